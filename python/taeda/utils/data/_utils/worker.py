"""What a worker process does: seeds, then answers each list of indices with a batch."""

import os
import pickle
import random
from dataclasses import dataclass

import taeda.random
from taeda import _C
from taeda._C import _multiprocessing
from taeda._storage_copy import tensor_over
from taeda.utils._exception_wrapper import ExceptionWrapper
from taeda.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher

# Kinds of frames: those of the main process, then those of a worker.
TASK, NEW_EPOCH = 0, 1
BATCH, ERROR, STREAM_ENDED, IS_READY = 10, 11, 12, 13


class _DatasetKind:
    """Whether a dataset is a map or a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker in which the code runs: its number, how many there are, its seed and dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str | None = "multiprocessing"


_worker_info = None
_arena = None  # of this worker process


def get_worker_info():
    """The WorkerInfo of this process; None where it is no worker of a DataLoader."""
    return _worker_info


def empty_shared(size, dtype):
    """A tensor in shared memory, in the worker's arena where there is one."""
    out = None if _arena is None else _arena.empty(size, dtype)
    if out is None:
        out = _C.empty(size, dtype=dtype)
        storage = _C.UntypedStorage._new_shared(out.untyped_storage().nbytes())
        out = tensor_over(storage, dtype, tuple(out.size()), out.stride(), 0)
    return out


class ManagerWatchdog:
    """Tells whether the process that started this one still lives."""

    def __init__(self):
        self.manager_pid = os.getppid()

    def is_alive(self):
        return os.getppid() == self.manager_pid


def _generate_state(base_seed, worker_id):
    """The four words that seed NumPy in a worker."""
    from numpy.random import SeedSequence

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return SeedSequence(words).generate_state(4).tolist()


def seed_everything(base_seed, worker_id):
    """Seeds of one worker: those of PyTorch for the same base seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    taeda.random.manual_seed(seed)
    try:
        import numpy
    except ImportError:
        return seed
    numpy.random.seed(_generate_state(base_seed, worker_id))
    return seed


@dataclass
class Work:
    """What a worker is told once."""

    dataset_kind: int
    dataset: object
    auto_collation: bool
    collate_fn: object
    drop_last: bool
    base_seed: int
    init_fn: object
    worker_id: int
    num_workers: int


class _Worker:
    def __init__(self, work, channel, writer):
        self.work = work
        self.channel = channel
        self.writer = writer
        self.where = f"in DataLoader worker process {work.worker_id}"
        self.fetcher = None
        self.failure = None  # of worker_init_fn: every task is answered with it
        self.has_ended = False
        # A stream that can tell where it is says so with each batch.
        self.has_state = work.dataset_kind == _DatasetKind.Iterable and hasattr(
            work.dataset, "state_dict"
        )

    def start(self):
        try:
            if self.work.init_fn is not None:
                self.work.init_fn(self.work.worker_id)
        except Exception:
            self.failure = ExceptionWrapper(where=self.where)

    def new_epoch(self, dataset_state, has_ended):
        """Gives the stream's state."""
        self.has_ended = has_ended
        self.writer.arena.trim()
        if self.failure is not None:
            return None
        work = self.work
        try:
            if dataset_state is not None:
                work.dataset.load_state_dict(dataset_state)
            state = self.state()
            if has_ended:
                return state
            self.fetcher = _DatasetKind.create_fetcher(
                work.dataset_kind,
                work.dataset,
                work.auto_collation,
                work.collate_fn,
                work.drop_last,
            )
        except Exception:
            self.failure = ExceptionWrapper(where=self.where)
            return None
        return state

    def state(self):
        return self.work.dataset.state_dict() if self.has_state else None

    def send(self, kind, number, value):
        try:
            payload, place = self.writer.dump(value)
        except Exception:  # something in the batch, or the class of an exception, has no pickle
            if kind == ERROR:
                value.exc_type = RuntimeError
            else:
                kind, value = ERROR, ExceptionWrapper(where=self.where)
            payload, place = self.writer.dump(value)
        self.channel.send(kind, number, place.to_bytes(8, "little", signed=True) + payload)

    def answer(self, number, index):
        if self.has_ended:
            return
        if self.failure is not None:
            self.send(ERROR, number, self.failure)
            return
        try:
            try:
                batch = self.fetcher.fetch(index)
            except StopIteration:
                if self.work.dataset_kind != _DatasetKind.Iterable:
                    raise
                self.has_ended = True
                kind, value = STREAM_ENDED, self.state()
            else:
                kind, value = BATCH, (batch, self.state(), self.fetcher.ended)
        except Exception:
            kind, value = ERROR, ExceptionWrapper(where=self.where)
        self.send(kind, number, value)


def _worker_loop(work, channel, writer):
    """The target of a worker process: it ends when the main process closes the channel or dies."""
    global _worker_info, _arena
    from taeda.utils.data._utils import MP_STATUS_CHECK_INTERVAL

    try:
        _multiprocessing.set_thread_name("pt_data_worker")
        _C.set_num_threads(1)
        seed = seed_everything(work.base_seed, work.worker_id)
        _worker_info = WorkerInfo(work.worker_id, work.num_workers, seed, work.dataset)
        _arena = writer.arena
        worker = _Worker(work, channel, writer)
        worker.start()
        watchdog = ManagerWatchdog()
        while True:
            kind, number, payload = channel.receive(watchdog.is_alive, MP_STATUS_CHECK_INTERVAL)
            value = pickle.loads(payload)
            if kind == NEW_EPOCH:
                worker.send(IS_READY, number, worker.new_epoch(*value))
            else:
                worker.answer(number, value)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # the main process has ended, or is about to
    finally:
        channel.close()
