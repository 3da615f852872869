"""Functions for tests of programs that use Taeda."""

from taeda.testing._comparison import assert_close

__all__ = ["assert_close"]
