"""Arguments that PyTorch's Python functions refuse, warn of or convert before the operator's call.

The generated functions call these (tools/gen/nn_functional.py); warnings name their callers' lines.
"""

from math import prod

from taeda._C import broadcast_shapes, broadcast_tensors
from taeda.nn._reductions import check_reduction, reduction_number  # noqa: F401


def _warn(text, stacklevel=4):
    from warnings import warn

    warn(text, stacklevel=stacklevel)


def probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout2d(ndim):
    if ndim == 3:
        _warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
        )
    elif ndim != 4:
        _warn(_unusual_dropout("dropout2d", ndim, 2))


def dropout3d(ndim):
    if ndim not in (4, 5):
        _warn(_unusual_dropout("dropout3d", ndim, 3))


def _unusual_dropout(name, ndim, spatial):
    return (
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs)."
    )


def softmax_dim(name, ndim, stacklevel):
    """The dimension that older programs leave out."""
    _warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


def padding_index(padding_idx, weight):
    """The row without a gradient, counted from the first; -1: none."""
    if padding_idx is None:
        return -1
    rows = weight.size(0)
    if padding_idx and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def divergence_mean(reduction, size_average, reduce):
    if size_average is None and reduce is None and reduction == "mean":
        _warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition"
            ".'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )


def margin(margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def broadcast_target(input, target):
    if input.size() == target.size():
        return
    _warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size."
    )
    try:
        broadcast_shapes(input.size(), target.size())
    except RuntimeError:
        broadcast_tensors([input, target])  # the error of tensors, before that of a reduction


def probability_target(input, target, *reduction):
    check_reduction(*reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )


def logit_target(input, target, *reduction):
    check_reduction(*reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )


def norm_order(p):
    """The order of a vector norm as a number; "fro" and None are the older spelling of 2."""
    if p is None or p == "fro":
        return 2.0
    if p == "nuc":
        raise NotImplementedError("the nuclear norm needs singular values, which are not there yet")
    if isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return p


def norm_dims(dim):
    """The dimensions of a norm; none in the list stands for all."""
    return [] if dim is None else dim


def batch_norm(input, training, eps):
    if training and prod((*input.shape[:1], *input.shape[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
