"""Settings of `taeda.save` and `taeda.load`."""

from taeda.utils.serialization import config

__all__ = ["config"]
