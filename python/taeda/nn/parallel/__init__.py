"""PyTorch's path of modules over several devices, of which Taeda has the one-device case."""

from taeda.nn.parallel.data_parallel import DataParallel, data_parallel
from taeda.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
