"""Where the extension module looks for key sets, which are in `taeda.library.keys`."""

from taeda.library.keys import DispatchKeySet

__all__ = ["DispatchKeySet"]
