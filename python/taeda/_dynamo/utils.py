"""PyTorch's path of detect_fake_mode (`taeda.fx.fake.modes`) and same (`taeda.testing`)."""

import collections

from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same

__all__ = ["counters", "detect_fake_mode", "same"]

# How often things happened, by their kind and name.
counters = collections.defaultdict(collections.Counter)
