"""Functions for tests of programs that use Taeda."""

from taeda.testing._comparison import assert_close
from taeda.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
