"""Sizes as tuples: a number stands for one value per dimension."""

from collections.abc import Iterable
from itertools import repeat

from taeda._C import SymInt


def _ntuple(n, name="parse"):
    """A function that makes a tuple: of the values given, or of n times the one value."""

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The values from the last to the first, each n times: the order in which F.pad counts."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """The sizes, with the default in the place of each None."""
    if isinstance(out_size, (int, SymInt)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    pairs = zip(out_size, defaults[-len(out_size) :])
    return [default if size is None else size for size, default in pairs]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix off the names of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        # The module of the prefix itself is named without the dot.
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
