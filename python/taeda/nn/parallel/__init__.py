"""PyTorch's path of modules over several devices, of which Taeda has the one-device case."""

from taeda.nn.parallel.data_parallel import DataParallel, data_parallel
from taeda.nn.parallel.distributed import DistributedDataParallel
from taeda.nn.parallel.parallel_apply import parallel_apply
from taeda.nn.parallel.replicate import replicate
from taeda.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
