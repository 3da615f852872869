"""How `functional` reads its arguments and hands back its results."""

from taeda import _C


def as_tuple(value, what, function):
    """(whether it was a tuple, the tuple)."""
    if not isinstance(value, tuple):
        if not isinstance(value, _C.Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the given {what} has type {type(value)}."
            )
        return False, (value,)
    for i, item in enumerate(value):
        if not isinstance(item, _C.Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the value at index {i} has type {type(item)}."
            )
    return True, value


def fresh(tensors, create_graph, needs_grad=True):
    """New handles of the tensors, so that one which the function also captures is told apart.

    With `create_graph` those that require gradients stay part of the caller's graph.
    """
    return tuple(
        tensor.view_as(tensor)
        if create_graph and tensor.requires_grad
        else tensor.detach().requires_grad_(needs_grad)
        for tensor in tensors
    )


def finish(values, create_graph, is_tuple):
    """The results as the caller gets them: without history unless asked for, unpacked if one."""
    if not create_graph:
        values = tuple(value.detach() for value in values)
    return tuple(values) if is_tuple else values[0]


def finish_matrix(rows, create_graph, is_outer_tuple, is_inner_tuple):
    rows = tuple(finish(row, create_graph, is_inner_tuple) for row in rows)
    return rows if is_outer_tuple else rows[0]


def read_vector(v, like, is_tuple, function, create_graph, missing):
    """The vector of a product, checked against the other factor; None only for one element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(missing)
        return None
    _, v = as_tuple(v, "v", function)
    v = fresh(v, create_graph, needs_grad=False)
    if len(v) != len(like):
        if not is_tuple:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
        )
    for i, (got, wanted) in enumerate(zip(v, like)):
        if got.size() != wanted.size():
            entry = f"Entry {i} in " if is_tuple else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {wanted.size()} but got {got.size()}."
            )
    return v


NEEDS_V_FOR_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a "
    "single element."
)
NEEDS_V_FOR_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor "
    "with a single element."
)
