"""How often compilers did something, by kind and name."""

import collections

__all__ = ["counters"]

counters = collections.defaultdict(collections.Counter)
