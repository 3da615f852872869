"""Iterators of a DataLoader: what both kinds share, and the one that loads in this process."""

import contextlib
import itertools
import threading
import warnings

from taeda import accelerator
from taeda.utils.data._resuming import Progress, RandomStart, is_stateful
from taeda.utils.data._utils.pin_memory import pin_memory
from taeda.utils.data._utils.worker import _DatasetKind
from taeda.utils.data.sampler import random_seed

__all__ = ["_BaseDataLoaderIter", "_SingleProcessDataLoaderIter"]


class _BaseDataLoaderIter:
    def __init__(self, loader):
        # Threads that share an iterator get each batch once.
        self._lock = threading.RLock()
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._pin_memory = loader.pin_memory and accelerator.is_available()
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the "
                f"device,ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=2,
            )
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
                stacklevel=2,
            )
        self._base_seed = None
        self._start_epoch(loader)

    def _start_epoch(self, loader):
        """Draws what an epoch draws: seeds, and on resuming also the indices that are skipped."""
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._resumed = resumed = loader._take_resumed_state()
        random = RandomStart.now(loader) if resumed is None else resumed.random
        # A resumed epoch draws what it drew, whatever this iterator has done before.
        draws_seed = self._base_seed is None if resumed is None else resumed.draws_seed
        self._progress = loader._progress = Progress(
            random, self._num_workers, draws_seed=draws_seed
        )
        if resumed is not None and self._dataset_kind == _DatasetKind.Iterable:
            resumed.check_workers(self._num_workers)
        if self._base_seed is None and not draws_seed:
            self._base_seed = random_seed(loader.generator)
        with random.in_force(loader) if resumed else contextlib.nullcontext():
            self._sampler_iter = iter(self._index_sampler)
            if draws_seed:
                seed = random_seed(loader.generator)
                self._base_seed = seed if self._base_seed is None else self._base_seed
            if resumed is not None:
                self._skip_indices()

    def _skip_indices(self):
        if self._dataset_kind == _DatasetKind.Map:
            self._progress.num_yielded = self._resumed.num_yielded
        skipped = sum(1 for _ in itertools.islice(self._sampler_iter, self._progress.num_yielded))
        if self._dataset_kind == _DatasetKind.Map:
            self._resumed.check_reached(skipped)
        # A sampler draws its order with its first index, and must do so here.
        first = list(itertools.islice(self._sampler_iter, 1))
        self._sampler_iter = itertools.chain(first, self._sampler_iter)

    def _skip_batches(self):
        """Of a stream that cannot tell where it is: reads what was read before."""
        if self._resumed is None or self._dataset_kind == _DatasetKind.Map:
            return
        if self._resumed.dataset is None:
            for count in range(self._resumed.num_yielded):
                try:
                    self._next_data()
                except StopIteration:
                    self._resumed.check_reached(count)
        self._progress.num_yielded = self._resumed.num_yielded

    @property
    def _num_yielded(self):
        """How many batches of the epoch were handed out."""
        return self._progress.num_yielded

    @_num_yielded.setter
    def _num_yielded(self, count):
        self._progress.num_yielded = count

    def _next_index(self):
        return next(self._sampler_iter)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            data = self._next_data()
        except StopIteration:
            self._warn_of_nothing_left()
            self._progress.has_ended = True
            raise
        with self._lock:
            self._num_yielded += 1
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and self._IterableDataset_len_called is not None
            and self._num_yielded > self._IterableDataset_len_called
        ):
            self._warn_of_length()
        return pin_memory(data) if self._pin_memory else data

    def _warn_of_nothing_left(self):
        """A stream's own state may lie beyond its end, which only the stream could tell."""
        resumed, progress = self._resumed, self._progress
        if resumed is None or resumed.dataset is None or progress.has_ended:
            return
        is_known = len(resumed.ended) == max(self._num_workers, 1)
        if progress.num_yielded == resumed.num_yielded and not is_known:
            warnings.warn(
                f"IterableDataset {self._dataset} gave nothing after the state that was loaded, "
                f"which was taken after {resumed.num_yielded} batches: it lies at the end of the "
                "stream, or beyond it",
                stacklevel=3,
            )

    def _warn_of_length(self):
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be "
            f"{self._IterableDataset_len_called}(when accessing len(dataloader)), but "
            f"{self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset "
                "for examples."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._resumed is not None and self._resumed.dataset is not None:
            self._dataset.load_state_dict(self._resumed.dataset[0])
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )
        if is_stateful(self._dataset):
            self._progress.fetcher = self._dataset_fetcher
        if self._resumed is not None and self._resumed.ended:
            self._dataset_fetcher.ended = True
        self._skip_batches()

    def _next_data(self):
        with self._lock:
            index = self._next_index()
            if self._dataset_kind == _DatasetKind.Iterable:
                return self._dataset_fetcher.fetch(index)
        return self._dataset_fetcher.fetch(index)  # several threads may load at once
