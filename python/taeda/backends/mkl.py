"""Intel's library of matrix products; CPU kernels do without it."""

__all__ = ["is_available", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available():
    """Whether this build uses MKL."""
    return False


class verbose:
    """Lets MKL tell of its calls inside a `with`; there are none."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        if self.enable != VERBOSE_OFF:
            raise RuntimeError("Failed to set MKL into verbose mode: this build has no MKL")
        return self

    def __exit__(self, *exception):
        return False
