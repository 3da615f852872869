"""Arguments that PyTorch's Python functions refuse, warn of or convert before the operator's call.

The generated functions call these (tools/gen/nn_functional.py); warnings name their callers' lines.
"""

from math import prod

from taeda._C import SymFloat, SymInt, broadcast_shapes, broadcast_tensors, int64, rand
from taeda.nn._reductions import check_reduction, reduction_number  # noqa: F401

_NUMBERS = (int, float, SymInt, SymFloat)


def _warn(text, stacklevel=4):
    from warnings import warn

    warn(text, stacklevel=stacklevel)


def probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def norm_type(p):
    if p == 0:
        raise ZeroDivisionError("float division by zero: there is no root of order 0")


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


def margin_order(p, weight):
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")


def listed_reduction(reduction, size_average=None, reduce=None, phrase="valid"):
    if size_average is None and reduce is None and reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not {phrase}")


def poisson_reduction(reduction, size_average, reduce):
    listed_reduction(reduction, size_average, reduce, "a valid value for reduction")


def gumbel_eps(eps):
    if eps != 1e-10:
        _warn("`eps` parameter is deprecated and has no effect.")


def triplet(anchor, positive, negative, gap, reduction):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    margin(gap)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )


def can_divide(linear_weight, target, reduction, label_smoothing, options):
    """Whether linear_cross_entropy goes by blocks of rows."""
    if options is None:
        return False
    features = tuple(linear_weight.shape[1:-1])
    is_named = reduction in ("mean", "sum", "none")
    if is_named and label_smoothing == 0 and target.dtype == int64 and not features:
        return True
    _warn(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
        "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). "
        f"Got reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype="
        f"{target.dtype}, out_features={features}."
    )
    return False


def block_rows(options, rows, features, classes):
    """The rows of a block; without a number, as many as give it the size of the layer's input."""
    if options.batch_chunk_size is not None:
        return min(options.batch_chunk_size, max(rows, 1))
    return max(1, rows * features // max(classes, 1))


def old_bag_order():
    _warn(
        "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, "
        "input, ...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`."
    )


def bags(input, weight, offsets, per_sample_weights):
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if input.dim() == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            f"fixed length sequences. However, found offsets of type {type(offsets)}"
        )
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.dim() == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")


def bag_mode(mode, scale_grad_by_freq, sparse):
    """The operator's number of a mode."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    return ("sum", "mean", "max").index(mode)


def bag_weights(per_sample_weights, mode):
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )


def broadcast_target(input, target):
    if input.shape == target.shape:
        return
    _warn(
        f"Using a target size ({target.shape}) that is different to the input size "
        f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size."
    )
    try:
        broadcast_shapes(input.shape, target.shape)
    except RuntimeError:
        broadcast_tensors([input, target])  # the error of tensors, before that of a reduction


def probability_target(input, target, *reduction):
    check_reduction(*reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )


def logit_target(input, target, *reduction):
    check_reduction(*reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
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


def _several_values(size, count):
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def group_norm(input, num_groups):
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    size = [input.size(0) * input.size(1) // num_groups, num_groups, *input.shape[2:]]
    _several_values(size, prod((size[0], *size[2:])))


def instance_norm(input, use_input_stats):
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )


def batch_norm(input, training, eps):
    if training:
        _several_values(input.shape, prod((*input.shape[:1], *input.shape[2:])))
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")


def output_size(output_size, sizes):
    """One size per pooled dimension, None standing for the input's."""
    if isinstance(output_size, _NUMBERS):
        return output_size
    if len(sizes) <= len(output_size):
        raise ValueError(
            f"Input dimension should be at least {len(output_size) + 1}, but got {len(sizes)}"
        )
    pairs = zip(output_size, sizes[-len(output_size) :])
    return [size if wanted is None else wanted for wanted, size in pairs]


def _several(value, n):
    return (value,) * n if isinstance(value, _NUMBERS) else tuple(value)


def fractional_size(name, input, output_ratio, n):
    """The size of the result from its ratio to the input's."""
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ratios = _several(output_ratio, n)
    if len(ratios) != n:
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints."
        )
    return [int(size * ratio) for size, ratio in zip(input.shape[-n:], ratios)]


def fractional_samples(input, n):
    """A random number per plane and dimension."""
    batch = 1 if input.dim() == n + 1 else input.size(0)
    channels = input.size(-n - 1)
    return rand(batch, channels, n, dtype=input.dtype, device=input.device)


def unpooled_stride(kernel_size, stride):
    return kernel_size if stride is None else stride


def _given_unpooled_size(output_size, plain, strides, n):
    """The last dimensions of `output_size`, each within a stride of the plain size."""
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(output_size)}'"
        )
    for d, (size, middle, stride) in enumerate(zip(output_size, plain, strides)):
        if not middle - stride < size < middle + stride:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {middle - stride} '
                f"and {middle + stride})"
            )
    return output_size


def unpooled_size(input, kernel_size, stride, padding, output_size, n):
    """The size of the result, which must be one that pooling brings to the input's."""
    kernels = _several(kernel_size, n)
    strides = _several(unpooled_stride(kernel_size, stride), n)
    paddings = _several(padding, n)
    dims = zip(input.shape[-n:], kernels, strides, paddings)
    plain = [(size - 1) * s + k - 2 * p for size, k, s, p in dims]
    if output_size is None:
        output_size = plain
    else:
        output_size = _given_unpooled_size(output_size, plain, strides, n)
    for d, size in enumerate(output_size):
        if size < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{d}]={size}"
            )
    return output_size


def spread_over(value, input):
    """One number for each dimension from the third on."""
    return [value] * (input.dim() - 2) if isinstance(value, _NUMBERS) else value


def _place_of(name, kind, names, word):
    if name not in names:
        raise ValueError(
            f"nn.functional.grid_sample(): expected {kind} to be {word}, but got: '{name}'"
        )
    return names.index(name)


def grid_mode(mode):
    return _place_of(
        mode, "mode", ("bilinear", "nearest", "bicubic"), "'bilinear', 'nearest' or 'bicubic'"
    )


def grid_padding(padding_mode):
    return _place_of(
        padding_mode,
        "padding_mode",
        ("zeros", "border", "reflection"),
        "'zeros', 'border', or 'reflection'",
    )


def grid_corners(align_corners):
    if align_corners is None:
        _warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
            "documentation of grid_sample for details."
        )
    return bool(align_corners)


def affine_grid(theta, size, align_corners):
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if tuple(theta.shape[1:]) != (n, n + 1) or theta.dim() != 3:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        _warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
