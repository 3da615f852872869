"""The package that orders the products of einsum, which goes from left to right without it."""

__all__ = ["get_opt_einsum", "is_available"]

enabled = False
strategy = None


def is_available():
    """Whether einsum orders its products by opt_einsum."""
    return False


def get_opt_einsum():
    """The package, where einsum uses it; None here."""
    return None
