"""PyTorch's path of detect_fake_mode (`taeda.fx.fake.modes`) and same (`taeda.testing`)."""

from taeda.fx.fake.modes import detect_fake_mode
from taeda.testing._comparison import same

__all__ = ["detect_fake_mode", "same"]
