"""The older path of `taeda.library.opcheck`."""

from taeda.library import opcheck

__all__ = ["opcheck"]
