"""PyTorch's path of queues that carry tensors: Python's own do, once this package is loaded."""

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]
