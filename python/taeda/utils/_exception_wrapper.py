"""An exception of another process or thread, raised again here with its traceback as text."""

import sys
import traceback

__all__ = ["ExceptionWrapper", "KeyErrorMessage"]


class KeyErrorMessage(str):
    """A message that KeyError, which prints the repr of its argument, shows as it is."""

    __slots__ = ()

    def __repr__(self):
        return self


class ExceptionWrapper:
    """The type and the formatted traceback of an exception: by default the one being handled."""

    def __init__(self, exc_info=None, where="in background"):
        # Only text is kept: a traceback holds its frames, and they hold what they work on.
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type, or a RuntimeError where a text cannot make one."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        try:
            exception = self.exc_type(text)
        except Exception:  # a constructor of the user's, which may want anything
            raise RuntimeError(text) from None
        raise exception
