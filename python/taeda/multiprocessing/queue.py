"""PyTorch's path of queues that carry tensors; Python's own do, with taeda.multiprocessing loaded."""

from multiprocessing.queues import Queue, SimpleQueue

import taeda.multiprocessing  # tells their pickler about tensors

__all__ = ["Queue", "SimpleQueue"]
