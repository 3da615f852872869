"""CUDA as a build without it shows it: nothing is available, and what needs a GPU says so."""

from taeda._absent_gpu import (
    DeviceScope,
    default_generators,
    device_count,
    empty_cache,
    get_arch_list,
    get_gencode_flags,
    get_rng_state_all,
    is_available,
    is_bf16_supported,
    is_current_stream_capturing,
    is_initialized,
    is_tf32_supported,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    seed,
    seed_all,
)
from taeda._errors import AcceleratorError, OutOfMemoryError
from taeda.cuda.streams import CUDAGraph, Event, ExternalStream, Stream, StreamContext, graph
from taeda.cuda.streams import absent as _absent

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "MemPool",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_allocator_backend",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "list_gpu_processes",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
    "temperature",
    "utilization",
]

MemPool = _absent.placeholder("MemPool", "Memory that belongs together.")
has_half, has_magma = True, False


def init():
    """Initializes CUDA; raises AssertionError in a build without it."""
    _absent.refuse()


(
    caching_allocator_alloc,
    caching_allocator_delete,
    can_device_access_peer,
    change_current_allocator,
    clock_rate,
    cudart,
    current_blas_handle,
    current_device,
    current_solver_handle,
    current_stream,
    default_stream,
    device_memory_used,
    get_allocator_backend,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_per_process_memory_fraction,
    get_rng_state,
    get_stream_from_external,
    get_sync_debug_mode,
    graph_pool_handle,
    initial_seed,
    ipc_collect,
    list_gpu_processes,
    make_graphed_callables,
    mem_get_info,
    memory_summary,
    memory_usage,
    power_draw,
    set_device,
    set_per_process_memory_fraction,
    set_rng_state,
    set_sync_debug_mode,
    synchronize,
    temperature,
    utilization,
) = _absent.refusals(
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "current_device",
    "current_solver_handle",
    "current_stream",
    "default_stream",
    "device_memory_used",
    "get_allocator_backend",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph_pool_handle",
    "initial_seed",
    "ipc_collect",
    "list_gpu_processes",
    "make_graphed_callables",
    "mem_get_info",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_sync_debug_mode",
    "synchronize",
    "temperature",
    "utilization",
)


# Older names, and memory of the host that copies go through.
max_memory_cached, memory_cached = max_memory_reserved, memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def host_memory_stats():
    """Statistics of pinned memory; empty before CUDA is initialized."""
    return memory_stats()


def host_memory_stats_as_nested_dict():
    """Statistics of pinned memory by kind; empty before CUDA is initialized."""
    return {}


def reset_accumulated_host_memory_stats():
    """Lets the sums of pinned memory begin anew; there are none."""


def reset_peak_host_memory_stats():
    """Lets the peaks of pinned memory begin anew; there are none."""


def set_rng_state_all(new_states):
    """Sets the states of the generators of all devices."""
    for state in new_states:
        set_rng_state(state)


class device(DeviceScope):
    """Makes a device the current one inside a `with`; a negative index changes nothing."""

    gpu = _absent


class device_of(device):
    """Makes a tensor's device the current one inside a `with`; a CPU tensor changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def set_stream(stream):
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        init()


def stream(stream):
    """Makes a stream the current one inside a `with`; None changes nothing."""
    return StreamContext(stream)


def __getattr__(name):
    if name.endswith(("Tensor", "Storage")):
        from taeda.cuda.types import TYPES

        if name in TYPES:
            return TYPES[name]
    raise AttributeError(f"module 'taeda.cuda' has no attribute '{name}'")


from taeda.cuda import amp, graphs, memory, nvtx, random, streams  # noqa: E402  isort: skip
