"""Streams, events and graphs of CUDA; a build without it has their names and cannot make one."""

from taeda._absent_gpu import AbsentGpu, StreamScope

__all__ = ["CUDAGraph", "Event", "ExternalStream", "Stream", "StreamContext", "graph"]

absent = AbsentGpu("cuda", "CUDA")
Event = absent.placeholder("Event", "A mark in a stream, to wait for or to take times between.")
CUDAGraph = absent.placeholder("CUDAGraph", "Work of a GPU, recorded to be done again.")


class Stream:
    """A queue of work on a GPU."""

    def __new__(cls, device=None, priority=0, **kwargs):
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """A stream that another library made."""


class StreamContext(StreamScope):
    """Makes a stream the current one inside a `with`; None changes nothing."""

    gpu = absent


class graph:
    """Records the work inside a `with` into a CUDAGraph."""

    def __init__(
        self,
        cuda_graph,
        pool=None,
        stream=None,
        capture_error_mode="global",
        enable_annotations=False,
        check_input_liveness=False,
    ):
        absent.refuse()
