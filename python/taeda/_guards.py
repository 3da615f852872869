"""PyTorch's path of sources (`taeda.fx.symbolic.sources`) and of detect_fake_mode."""

from taeda.fx.fake.modes import detect_fake_mode
from taeda.fx.symbolic.sources import ChainedSource, Source

__all__ = ["ChainedSource", "Source", "detect_fake_mode"]
