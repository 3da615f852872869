"""Pairs of a key and a value, as the update of a container of named members takes them."""

from collections.abc import Iterable


def checked_pairs(kind, pairs):
    """The pairs, one by one; errors name the container and the place of what is none."""
    for place, pair in enumerate(pairs):
        element = f"{kind} update sequence element #{place}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{element} should be Iterable; is" + type(pair).__name__)
        if len(pair) != 2:
            raise ValueError(f"{element} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]
