"""The parts of a DataLoader: fetching and collating samples, worker processes."""

from taeda.utils._exception_wrapper import ExceptionWrapper
from taeda.utils.data._utils import collate, fetch, pin_memory, worker

__all__ = [
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "collate",
    "fetch",
    "pin_memory",
    "worker",
]

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds: how long a process waits before it looks for the other
