"""Streams, events and graphs of CUDA; a build without it has their names and cannot make one."""

__all__ = ["CUDAGraph", "Event", "ExternalStream", "Stream", "StreamContext", "graph"]


class Stream:
    """A queue of work on a GPU."""

    def __new__(cls, device=None, priority=0, **kwargs):
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """A stream that another library made."""


class Event:
    """A mark in a stream, to wait for or to take times between."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        raise RuntimeError("Tried to instantiate dummy base class Event")


class CUDAGraph:
    """Work of a GPU that was recorded to be done again."""

    def __new__(cls, keep_graph=False):
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")


class StreamContext:
    """Makes a stream the current one inside a `with`; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            raise AssertionError("Torch not compiled with CUDA enabled")

    def __exit__(self, type, value, traceback):
        return False


class graph:
    """Records the work inside a `with` into a CUDAGraph."""

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        raise AssertionError("Torch not compiled with CUDA enabled")
