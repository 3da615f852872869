"""Signal processing: window functions."""

from taeda.signal import windows

__all__ = ["windows"]
