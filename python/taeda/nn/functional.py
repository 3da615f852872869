"""Functions of neural networks with PyTorch's signatures; the operators behind them are in C++."""

from taeda._C._nn import (  # noqa: F401
    elu_,
    gelu,
    hardtanh_,
    leaky_relu_,
    linear,
    softplus,
    softshrink,
)
from taeda.nn import _checks, grad  # noqa: F401
from taeda.nn import _generated_functional as _generated
from taeda.nn._multi_head_attention import (  # noqa: F401
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from taeda.nn._operators import _C, _nn
from taeda.nn._operators import name_missing_operators as _name_missing_operators
from taeda.overrides import (
    _handle_call,
    has_torch_function_unary,
    has_torch_function_variadic,
)

# Functions that only call their operator: they belong here, as in PyTorch.
for _name in _generated.__all__:
    globals()[_name] = _function = getattr(_generated, _name)
    if hasattr(_function, "__code__"):
        _function.__module__ = __name__
del _name, _function


# ---- activations ----
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is random in training."""
    if has_torch_function_unary(input):
        return _handle_call(rrelu, (input,), locals())
    function = _C.rrelu_ if inplace else _C.rrelu
    return function(input, lower, upper, training)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draws from the Gumbel-softmax distribution of the logits; one-hot where `hard`."""
    if has_torch_function_unary(logits):
        return _handle_call(gumbel_softmax, (logits,), locals())
    if not isinstance(tau, (_C.SymFloat, _C.SymInt)):
        return _generated.gumbel_softmax(logits, tau, hard, eps, dim)
    # A temperature that changes is a number of the graph; the operator's is a constant.
    _checks.gumbel_eps(eps)
    noise = _C.empty_like(logits, memory_format=_C.contiguous_format).exponential_().log()
    soft = ((logits - noise) / tau).softmax(dim)
    if not hard:
        return soft
    one_hot = _C.zeros_like(soft).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return one_hot - soft.detach() + soft


# ---- greatest elements and their places ----
def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """adaptive_max_pool1d with the place of each greatest element."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_max_pool1d_with_indices, (input,), locals())
    return _generated.adaptive_max_pool1d(input, output_size, return_indices=True)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """adaptive_max_pool2d with the place of each greatest element."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_max_pool2d_with_indices, (input,), locals())
    return _generated.adaptive_max_pool2d(input, output_size, return_indices=True)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """adaptive_max_pool3d with the place of each greatest element."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_max_pool3d_with_indices, (input,), locals())
    return _generated.adaptive_max_pool3d(input, output_size, return_indices=True)


def fractional_max_pool2d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """fractional_max_pool2d with the place of each greatest element."""
    if has_torch_function_variadic(input, _random_samples):
        arguments = (input, _random_samples)
        return _handle_call(fractional_max_pool2d_with_indices, arguments, locals())
    return _generated.fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )


def fractional_max_pool3d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """fractional_max_pool3d with the place of each greatest element."""
    if has_torch_function_variadic(input, _random_samples):
        arguments = (input, _random_samples)
        return _handle_call(fractional_max_pool3d_with_indices, arguments, locals())
    return _generated.fractional_max_pool3d(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )


# ---- losses ----
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """By how much the anchor fails to be nearer to the positive, by a distance of your own."""
    if has_torch_function_variadic(anchor, positive, negative):
        arguments = (anchor, positive, negative)
        return _handle_call(triplet_margin_with_distance_loss, arguments, locals())
    _checks.triplet(anchor, positive, negative, margin, reduction)
    distance = _C.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    loss = _C.clamp_min(margin + near - far, 0)
    return loss if reduction == "none" else getattr(loss, reduction)()


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of linear(input, linear_weight, linear_bias); with `options` by blocks."""
    tensors = (input, linear_weight, target, linear_bias, weight)
    if has_torch_function_variadic(*tensors):
        return _handle_call(linear_cross_entropy, tensors, locals())
    number = _checks.reduction_number(reduction)
    if not _checks.can_divide(linear_weight, target, reduction, label_smoothing, options):
        rest = (linear_bias, weight, number, ignore_index, label_smoothing)
        return _nn._linear_cross_entropy(input, linear_weight, target, *rest)
    is_single = input.dim() == 1
    rows, classes = (t.unsqueeze(0) if is_single else t for t in (input, target))
    ignored = -100 if ignore_index is None else ignore_index
    size = _checks.block_rows(options, *rows.shape, linear_weight.shape[0])
    rest = (linear_bias, weight, number, ignored, size)
    loss = _nn._chunked_linear_cross_entropy(rows, linear_weight, classes, *rest)
    return loss.squeeze(0) if is_single else loss


# ---- bags of rows ----
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of the rows of `weight` that each bag of `input` names."""
    tensors = (input, weight, offsets, per_sample_weights)
    if has_torch_function_variadic(*tensors):
        return _handle_call(embedding_bag, tensors, locals())
    if weight.dtype == _C.int64 and input.is_floating_point():
        _checks.old_bag_order()
        weight, input = input, weight
    _checks.bags(input, weight, offsets, per_sample_weights)
    if input.dim() == 2:
        offsets = _C.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    number = _checks.bag_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _C.embedding_renorm_(weight.detach(), input.contiguous(), max_norm, norm_type)
    _checks.bag_weights(per_sample_weights, mode)
    return _C.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        number,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


# ---- resampling ----
def _deprecated(name):
    from warnings import warn

    warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=3,
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of interpolate."""
    _deprecated("upsample")
    return _generated.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """The older name of interpolate to copies of the nearest element."""
    _deprecated("upsample_nearest")
    return _generated.interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """The older name of linear interpolation between aligned corners."""
    _deprecated("upsample_bilinear")
    return _generated.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_name_missing_operators(globals())
