"""CUDA as a build without it shows it: nothing is available, and what needs a GPU says so.

Programs that ask before they use a GPU run unchanged; seeds and caches of no device are accepted,
as PyTorch's CPU-only build accepts them.
"""

from collections import OrderedDict

import taeda
from taeda._errors import AcceleratorError, OutOfMemoryError
from taeda.cuda.streams import CUDAGraph, Event, ExternalStream, Stream, StreamContext, graph

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]

default_generators = ()


def is_available():
    """Whether there is a CUDA device; a build without CUDA has none."""
    return False


def device_count():
    """The number of CUDA devices."""
    return 0


def is_initialized():
    """Whether CUDA has been initialized."""
    return False


def is_bf16_supported(including_emulation=True):
    """Whether the current CUDA device computes in bfloat16."""
    return False


def is_tf32_supported():
    """Whether the current CUDA device multiplies in TensorFloat-32."""
    return False


def is_current_stream_capturing():
    """Whether the current stream records a graph."""
    return False


def get_gencode_flags():
    """The compiler's options for the GPU architectures that this build has code for."""
    return ""


def get_arch_list():
    """The GPU architectures this build has code for."""
    return []


def init():
    """Initializes CUDA; raises AssertionError in a build without it."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def current_device():
    """The index of the current device."""
    init()


def set_device(device):
    """Makes a device the current one."""
    init()


def synchronize(device=None):
    """Waits for everything the device has been given to do."""
    init()


def current_stream(device=None):
    """The stream that work on the device goes to."""
    init()


def default_stream(device=None):
    """The stream that work on the device goes to if no other is chosen."""
    init()


def set_stream(stream):
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        init()


def get_device_name(device=None):
    """The device's name."""
    init()


def get_device_capability(device=None):
    """The device's major and minor compute capability."""
    init()


def get_device_properties(device=None):
    """The device's name, memory and processors."""
    init()


def can_device_access_peer(device, peer_device):
    """Whether a device can read the memory of another one."""
    init()


def mem_get_info(device=None):
    """The device's free and total bytes."""
    init()


def ipc_collect():
    """Frees memory that other processes have handed back."""
    init()


# Statistics and caches of devices that are not there: zeros, and nothing to do.


def empty_cache():
    """Returns cached memory to the devices; there is none."""


def memory_stats(device=None):
    """The allocator's statistics; empty before CUDA is initialized."""
    return OrderedDict()


def memory_allocated(device=None):
    """Bytes that tensors occupy on the device."""
    return 0


def max_memory_allocated(device=None):
    """The most bytes that tensors occupied on the device."""
    return 0


def memory_reserved(device=None):
    """Bytes that the caching allocator holds on the device."""
    return 0


def max_memory_reserved(device=None):
    """The most bytes that the caching allocator held on the device."""
    return 0


def reset_peak_memory_stats(device=None):
    """Lets the peaks begin anew; there are none."""


def reset_max_memory_allocated(device=None):
    """Lets the peak of occupied bytes begin anew; there is none."""


# Random numbers: seeds for no device are accepted.


def manual_seed(seed):
    """Seeds the current device's generator."""
    int(seed)


def manual_seed_all(seed):
    """Seeds the generators of all devices."""
    int(seed)


def seed():
    """Seeds the current device's generator with a random number."""


def seed_all():
    """Seeds the generators of all devices with random numbers."""


def initial_seed():
    """The seed of the current device's generator."""
    init()


def get_rng_state(device="cuda"):
    """The state of the device's generator."""
    init()


def get_rng_state_all():
    """The states of the generators of all devices."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Sets the state of the device's generator."""
    init()


def set_rng_state_all(new_states):
    """Sets the states of the generators of all devices."""
    for state in new_states:
        set_rng_state(state)


class device:
    """Makes a device the current one inside a `with`; a negative index changes nothing."""

    def __init__(self, device):
        self.idx = _device_index(device)

    def __enter__(self):
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, type, value, traceback):
        return False


class device_of(device):
    """Makes a tensor's device the current one inside a `with`; a CPU tensor changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def stream(stream):
    """Makes a stream the current one inside a `with`; None changes nothing."""
    return StreamContext(stream)


def _device_index(device):
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = taeda.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return 0 if device.index is None else device.index


def __getattr__(name):
    if name.endswith(("Tensor", "Storage")):
        from taeda.cuda.types import TYPES

        if name in TYPES:
            return TYPES[name]
    raise AttributeError(f"module 'taeda.cuda' has no attribute '{name}'")


from taeda.cuda import amp, random, streams  # noqa: E402  isort: skip
