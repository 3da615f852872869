"""Where a DataLoader is inside an epoch, as a dict that a later program goes on from.

The order of samples is not stored: it is drawn again from the random state that the epoch began
with, and the indices of batches that were handed out are skipped. A stream that has `state_dict`
and `load_state_dict` is asked for its place; any other is read again up to it. A stream that has
ended may say that it is at its beginning again, so its end is remembered apart from its place.
"""

import contextlib
from dataclasses import dataclass, field

from taeda import _C
from taeda.utils.data.dataset import IterableDataset

__all__ = ["BEGINNING", "Progress", "RandomStart", "ResumedState", "is_stateful"]


def is_stateful(dataset):
    """Whether a stream can tell where it is."""
    return isinstance(dataset, IterableDataset) and hasattr(dataset, "state_dict")


@dataclass
class RandomStart:
    """The random states with which an epoch began: the default one, and the loader's own."""

    default: object
    generator: object

    @classmethod
    def now(cls, loader):
        own = loader.generator
        return cls(_C.default_generator.get_state(), None if own is None else own.get_state())

    @contextlib.contextmanager
    def in_force(self, loader):
        """Puts the states back; afterwards the default one, which is not the loader's, is what it
        was."""
        before = _C.default_generator.get_state()
        _C.default_generator.set_state(self.default)
        if loader.generator is not None and self.generator is not None:
            loader.generator.set_state(self.generator)
        try:
            yield
        finally:
            _C.default_generator.set_state(before)


@dataclass
class ResumedState:
    """What `state_dict` gives, read again."""

    num_yielded: int
    random: RandomStart
    dataset: dict | None
    ended: frozenset
    next_worker: int
    num_workers: int
    draws_seed: bool

    @classmethod
    def of(cls, state):
        missing = _KEYS - set(state)
        if missing:
            raise KeyError(f"state of a DataLoader without {sorted(missing)}")
        if state["random"] is None:  # between two epochs
            return None
        random = RandomStart(state["random"], state["generator"])
        return cls(
            state["num_yielded"],
            random,
            state["dataset"],
            frozenset(state["ended"]),
            state["next_worker"],
            state["num_workers"],
            state["draws_seed"],
        )

    def check_workers(self, num_workers):
        """Of a stream: each worker has its share, so that there must be as many as there were."""
        if self.num_workers != num_workers:
            raise ValueError(
                f"the state of a stream was taken with num_workers={self.num_workers}, and this "
                f"DataLoader has num_workers={num_workers}: the shares of its workers differ"
            )

    def check_reached(self, count):
        """Raises where only `count` batches came up to the place of the state."""
        if count < self.num_yielded:
            raise ValueError(
                f"the state was taken after {self.num_yielded} batches, which lies beyond the end: "
                f"this DataLoader has {count}; are its dataset and batch_size those of the state?"
            )


_KEYS = {
    "num_yielded",
    "random",
    "generator",
    "dataset",
    "ended",
    "next_worker",
    "num_workers",
    "draws_seed",
}


@dataclass
class Progress:
    """How far an iterator is. The loader holds it, so that it outlives the iterator."""

    random: RandomStart
    num_workers: int
    fetcher: object = None  # of a stream that is read in this process and can tell where it is
    num_yielded: int = 0
    next_worker: int = 0
    draws_seed: bool = True  # workers that stay keep the seed of their first epoch
    worker_states: dict = field(default_factory=dict)  # of streams in workers
    ended: set = field(default_factory=set)  # workers whose stream has nothing left
    has_ended: bool = False

    def state_dict(self):
        """After the last batch, the beginning of an epoch."""
        if self.has_ended:
            return BEGINNING.copy()
        states, ended = dict(self.worker_states) or None, self.ended
        if self.fetcher is not None:
            states = {0: self.fetcher.dataset.state_dict()}
            ended = {0} if self.fetcher.ended else ended
        return {
            "num_yielded": self.num_yielded,
            "random": self.random.default,
            "generator": self.random.generator,
            "dataset": states,
            "ended": sorted(ended),
            "next_worker": self.next_worker,
            "num_workers": self.num_workers,
            "draws_seed": self.draws_seed,
        }


BEGINNING = dict.fromkeys(_KEYS) | {"num_yielded": 0, "next_worker": 0, "draws_seed": True}
BEGINNING["ended"] = ()
