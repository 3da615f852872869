"""PyTorch's path of small functions that its users and tests share."""


def _element_size(dtype):
    """The bytes of one element."""
    return dtype.itemsize
