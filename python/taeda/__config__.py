"""How this build was made."""

from taeda import _C

__all__ = ["parallel_info", "show"]


def show():
    """A text about the build: version, compiler, vector instructions."""
    return _C._show_config()


def _cxx_flags():
    """The compiler's options."""
    return _C._cxx_flags()


def parallel_info():
    """A text about threads."""
    return _C._parallel_info()
