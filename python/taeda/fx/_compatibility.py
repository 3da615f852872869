"""compatibility: marks what may change; here it changes nothing."""

__all__ = ["compatibility"]


def compatibility(is_backward_compatible):
    """A decorator that notes whether a class or function is meant to stay as it is."""

    def mark(value):
        value._backward_compatible = is_backward_compatible
        return value

    return mark
