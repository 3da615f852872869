"""What tests of programs that use Taeda need."""

from taeda.testing._comparison import assert_close

__all__ = ["assert_close"]
