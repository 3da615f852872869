"""A kind of GPU that this build has no kernels for.

Programs that ask before they use one run unchanged: seeds, caches and statistics of no device are
accepted, as PyTorch's CPU-only build accepts them. The functions of this module are the same for
every kind; `AbsentGpu` makes those that name it.
"""

from collections import OrderedDict

import taeda

default_generators = ()


def is_available():
    """Whether there is such a GPU."""
    return False


def is_initialized():
    """Whether one is in use."""
    return False


def device_count():
    """How many there are."""
    return 0


def is_bf16_supported(including_emulation=True):
    """Whether the current one computes in bfloat16."""
    return False


def is_tf32_supported():
    """Whether the current one multiplies in TensorFloat-32."""
    return False


def is_current_stream_capturing():
    """Whether the current stream records a graph."""
    return False


def get_gencode_flags():
    """The compiler's options for the architectures that this build has code for."""
    return ""


def get_arch_list():
    """The architectures that this build has code for."""
    return []


# Statistics and caches of no device: zeros, and nothing to do.


def empty_cache():
    """Returns cached memory to the GPUs; there is none."""


def memory_stats(device=None):
    """The allocator's statistics; empty before a GPU is used."""
    return OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """The allocator's statistics by kind; empty before a GPU is used."""
    return {}


def memory_snapshot(mempool_id=None, include_traces=True):
    """The allocator's blocks; there are none."""
    return []


def memory_allocated(device=None):
    """Bytes that tensors occupy."""
    return 0


def max_memory_allocated(device=None):
    """The most bytes that tensors occupied."""
    return 0


def memory_reserved(device=None):
    """Bytes that the caching allocator holds."""
    return 0


def max_memory_reserved(device=None):
    """The most bytes that the caching allocator held."""
    return 0


def reset_peak_memory_stats(device=None):
    """Lets the peaks begin anew; there are none."""


def reset_accumulated_memory_stats(device=None):
    """Lets the sums begin anew; there are none."""


# Random numbers: seeds for no device are accepted.


def manual_seed(seed):
    """Seeds the current GPU's generator."""
    int(seed)


def manual_seed_all(seed):
    """Seeds the generators of all GPUs."""
    int(seed)


def seed():
    """Seeds the current GPU's generator with a random number."""


def seed_all():
    """Seeds the generators of all GPUs with random numbers."""


def get_rng_state_all():
    """The states of the generators of all GPUs."""
    return []


class AbsentGpu:
    """What a module of one kind of GPU has under its name: `kind` "cuda", `title` "CUDA"."""

    def __init__(self, kind, title):
        self.kind, self.title, self.module = kind, title, f"taeda.{kind}"

    def refuse(self):
        raise AssertionError(f"Torch not compiled with {self.title} enabled")

    def refusals(self, *names):
        """Functions of these names that need a GPU, and say that there is none."""
        return [self._refusal(name) for name in names]

    def _refusal(self, name):
        def function(*args, **kwargs):
            self.refuse()

        function.__name__ = function.__qualname__ = name
        function.__module__ = self.module
        function.__doc__ = f"Needs a GPU: raises AssertionError in a build without {self.title}."
        return function

    def placeholder(self, name, text):
        """A class that has a name and a text, and no instances."""

        def __new__(cls, *args, **kwargs):
            raise RuntimeError(f"Tried to instantiate dummy base class {cls.__name__}")

        return type(name, (), {"__new__": __new__, "__doc__": text, "__module__": self.module})

    def index_of(self, device):
        """The index of a device of this kind; -1 for None."""
        if device is None or isinstance(device, int):
            return -1 if device is None else device
        if isinstance(device, str):
            device = taeda.device(device)
        if device.type != self.kind:
            raise ValueError(f"Expected a {self.kind} device, but got: {device}")
        return 0 if device.index is None else device.index


class DeviceScope:
    """Makes a device the current one inside a `with`; a negative index changes nothing."""

    gpu: AbsentGpu

    def __init__(self, device):
        self.idx = self.gpu.index_of(device)

    def __enter__(self):
        if self.idx >= 0:
            raise RuntimeError(f"PyTorch was compiled without {self.gpu.title} support")

    def __exit__(self, type, value, traceback):
        return False


class StreamScope:
    """Makes a stream the current one inside a `with`; None changes nothing."""

    gpu: AbsentGpu

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.gpu.refuse()

    def __exit__(self, type, value, traceback):
        return False
