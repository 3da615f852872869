"""Samplers: the order in which a DataLoader asks a dataset for its samples."""

import itertools
from typing import Generic, TypeVar

from taeda import _C

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

_DRAWN_AT_ONCE = 32


def random_seed(generator=None):
    """A seed from a generator, or from the default one."""
    return _C.empty((), dtype=_C.int64).random_(generator=generator).item()


def _check_count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """An iterable of indices, or of lists of them; subclasses may have a length."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """From the first to the last."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """In random order: every sample once, or drawn anew each time (`replacement`)."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many are drawn: the length of the data, which may change, unless it was given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = _C.Generator().manual_seed(random_seed())
        if not self.replacement:
            for _ in range(self.num_samples // n):
                yield from _C.randperm(n, generator=generator).tolist()
            rest = _C.randperm(n, generator=generator).tolist()
            yield from rest[: self.num_samples % n]
            return
        whole, rest = divmod(self.num_samples, _DRAWN_AT_ONCE)
        for count in itertools.chain(itertools.repeat(_DRAWN_AT_ONCE, whole), [rest]):
            yield from _C.randint(n, (count,), dtype=_C.int64, generator=generator).tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices in random order, every one once."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to their weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = _C.as_tensor(weights, dtype=_C.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given "
                f"weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = _C.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of indices of another sampler; the last may be shorter, or is left out."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        smallest = self.batch_size if self.drop_last else 1
        while len(batch := list(itertools.islice(indices, self.batch_size))) >= smallest:
            yield batch

    def __len__(self):
        rounding = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + rounding) // self.batch_size
