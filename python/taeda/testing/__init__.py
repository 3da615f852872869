"""Functions for tests of programs that use Taeda."""

from taeda.testing._comparison import assert_allclose, assert_close
from taeda.testing._creation import make_tensor
from taeda.testing._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
