"""Intel's GPUs as a build without them shows them: nothing is available."""

from taeda._absent_gpu import (
    AbsentGpu,
    DeviceScope,
    StreamScope,
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

__all__ = [
    "Event",
    "MemPool",
    "Stream",
    "StreamContext",
    "XPUGraph",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "current_device",
    "current_stream",
    "default_generators",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_usage",
    "power_draw",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "temperature",
    "utilization",
]

_absent = AbsentGpu("xpu", "XPU")
Event = _absent.placeholder("Event", "A mark in a stream.")
MemPool = _absent.placeholder("MemPool", "Memory that belongs together.")
Stream = _absent.placeholder("Stream", "A queue of work on a GPU.")
XPUGraph = _absent.placeholder("XPUGraph", "Work of a GPU, recorded to be done again.")


def init():
    """Prepares the GPUs; raises AssertionError in a build without them."""
    _absent.refuse()


(
    can_device_access_peer,
    change_current_allocator,
    clock_rate,
    current_device,
    current_stream,
    device_memory_used,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_per_process_memory_fraction,
    get_rng_state,
    get_stream_from_external,
    graph_pool_handle,
    initial_seed,
    make_graphed_callables,
    mem_get_info,
    memory_usage,
    power_draw,
    set_device,
    set_per_process_memory_fraction,
    set_rng_state,
    synchronize,
    temperature,
    utilization,
) = _absent.refusals(
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "current_device",
    "current_stream",
    "device_memory_used",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_stream_from_external",
    "graph_pool_handle",
    "initial_seed",
    "make_graphed_callables",
    "mem_get_info",
    "memory_usage",
    "power_draw",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
    "temperature",
    "utilization",
)


def set_rng_state_all(new_states):
    """Sets the states of the generators of all GPUs."""
    for state in new_states:
        set_rng_state(state)


class device(DeviceScope):
    """Makes a GPU the current one inside a `with`; a negative index changes nothing."""

    gpu = _absent


class device_of(device):
    """Makes a tensor's GPU the current one inside a `with`; a CPU tensor changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_xpu else -1)


class StreamContext(StreamScope):
    """Makes a stream the current one inside a `with`; None changes nothing."""

    gpu = _absent


class graph:
    """Records the work inside a `with` into an XPUGraph."""

    def __init__(self, xpu_graph, pool=None, stream=None):
        _absent.refuse()


def set_stream(stream):
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        init()


def stream(stream):
    """Makes a stream the current one inside a `with`; None changes nothing."""
    return StreamContext(stream)
