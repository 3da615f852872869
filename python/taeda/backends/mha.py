"""The switch of the fused operators that attention layers use in evaluation."""

_is_fastpath_enabled = True


def get_fastpath_enabled():
    """Whether attention layers may use the fused operators."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value):
    """Lets attention layers use the fused operators, or not."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
