"""PyTorch's path of detect_fake_mode, which is in `taeda.fx.fake.modes`."""

from taeda.fx.fake.modes import detect_fake_mode

__all__ = ["detect_fake_mode"]
