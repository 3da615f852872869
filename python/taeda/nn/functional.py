"""Functions of neural networks with PyTorch's signatures; the operators behind them are in C++."""

from math import prod

from taeda import _C as _extension
from taeda._C._nn import *  # noqa: F403
from taeda.nn._losses import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from taeda.nn._operators import _C, _nn, missing, name_missing_operators
from taeda.overrides import (
    _handle_call,
    has_torch_function_unary,
    has_torch_function_variadic,
)

# Operators of the top level that PyTorch also offers here under the same name.
_SHARED = (
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d celu_ prelu selu_ "
    "threshold_ pixel_shuffle pixel_unshuffle channel_shuffle avg_pool1d adaptive_avg_pool1d "
    "cosine_similarity pairwise_distance pdist bilinear logsigmoid hardshrink tanhshrink"
)


def __getattr__(name):
    if name in _SHARED.split():
        if not hasattr(_extension, name):
            raise missing(name)
        return getattr(_extension, name)
    raise AttributeError(f"module 'taeda.nn.functional' has no attribute '{name}'")


# ---- activations ----
def relu(input, inplace=False):
    """max(0, input)"""
    if has_torch_function_unary(input):
        return _handle_call(relu, (input,), locals())
    return _C.relu_(input) if inplace else _C.relu(input)


def relu6(input, inplace=False):
    """min(max(0, input), 6)"""
    if has_torch_function_unary(input):
        return _handle_call(relu6, (input,), locals())
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """The input clamped to [min_val, max_val]."""
    if has_torch_function_unary(input):
        return _handle_call(hardtanh, (input,), locals())
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not (input.is_floating_point() or input.is_complex()):
        min_val, max_val = int(min_val), int(max_val)
    return input.clamp_(min_val, max_val) if inplace else input.clamp(min_val, max_val)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """The input, its negative part times `negative_slope`."""
    if has_torch_function_unary(input):
        return _handle_call(leaky_relu, (input,), locals())
    if inplace:
        return _nn.leaky_relu_(input, negative_slope)
    return _nn.leaky_relu(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """The input, its negative part replaced by alpha * (exp(x) - 1)."""
    if has_torch_function_unary(input):
        return _handle_call(elu, (input,), locals())
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input, inplace=False):
    """The self-normalizing ELU."""
    if has_torch_function_unary(input):
        return _handle_call(selu, (input,), locals())
    return _C.selu_(input) if inplace else _C.selu(input)


def celu(input, alpha=1.0, inplace=False):
    """The continuously differentiable ELU."""
    if has_torch_function_unary(input):
        return _handle_call(celu, (input,), locals())
    return _C.celu_(input, alpha) if inplace else _C.celu(input, alpha)


def silu(input, inplace=False):
    """input * sigmoid(input)"""
    if has_torch_function_unary(input):
        return _handle_call(silu, (input,), locals())
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input, inplace=False):
    """input * tanh(softplus(input))"""
    if has_torch_function_unary(input):
        return _handle_call(mish, (input,), locals())
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardsigmoid(input, inplace=False):
    """The piecewise linear sigmoid."""
    if has_torch_function_unary(input):
        return _handle_call(hardsigmoid, (input,), locals())
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def hardswish(input, inplace=False):
    """input * hardsigmoid(input)"""
    if has_torch_function_unary(input):
        return _handle_call(hardswish, (input,), locals())
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def _threshold(input, threshold, value, inplace=False):
    """The input where it is above `threshold`, `value` elsewhere."""
    if has_torch_function_unary(input):
        return _handle_call(_threshold, (input,), locals())
    if inplace:
        return _C.threshold_(input, threshold, value)
    return _C.threshold(input, threshold, value)


# The parameter of the same name hides the function inside it.
threshold = _threshold


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is random in training."""
    if has_torch_function_unary(input):
        return _handle_call(rrelu, (input,), locals())
    function = _C.rrelu_ if inplace else _C.rrelu
    return function(input, lower, upper, training)


def glu(input, dim=-1):
    """The first half along `dim` times the sigmoid of the second."""
    if has_torch_function_unary(input):
        return _handle_call(glu, (input,), locals())
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def sigmoid(input):
    """1 / (1 + exp(-input))"""
    return input.sigmoid()


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


def softsign(input):
    """input / (1 + |input|)"""
    if has_torch_function_unary(input):
        return _handle_call(softsign, (input,), locals())
    return input / (input.abs() + 1)


def _softmax_dim(name, ndim):
    from warnings import warn

    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input), scaled to sum to one along `dim`."""
    if has_torch_function_unary(input):
        return _handle_call(softmax, (input,), locals())
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-input)"""
    if has_torch_function_unary(input):
        return _handle_call(softmin, (input,), locals())
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax, without its overflow."""
    if has_torch_function_unary(input):
        return _handle_call(log_softmax, (input,), locals())
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


# ---- dropout ----
def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability p in training, and scales the others up."""
    if has_torch_function_unary(input):
        return _handle_call(dropout, (input,), locals())
    _check_probability(p)
    return _C.dropout_(input, p, training) if inplace else _C.dropout(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of SELU's outputs."""
    if has_torch_function_unary(input):
        return _handle_call(alpha_dropout, (input,), locals())
    _check_probability(p)
    function = _C.alpha_dropout_ if inplace else _C.alpha_dropout
    return function(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout of whole channels that keeps mean and variance of SELU's outputs."""
    if has_torch_function_unary(input):
        return _handle_call(feature_alpha_dropout, (input,), locals())
    _check_probability(p)
    function = _C.feature_alpha_dropout_ if inplace else _C.feature_alpha_dropout
    return function(input, p, training)


def feature_dropout(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels."""
    if has_torch_function_unary(input):
        return _handle_call(feature_dropout, (input,), locals())
    _check_probability(p)
    function = _C.feature_dropout_ if inplace else _C.feature_dropout
    return function(input, p, training)


dropout1d = dropout2d = dropout3d = feature_dropout


# ---- embeddings ----
def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """Rows of `weight` by index."""
    if has_torch_function_variadic(input, weight):
        return _handle_call(embedding, (input, weight), locals())
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx >= weight.size(0) or padding_idx < -weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        # Renormalizes the rows in use, outside the graph, as PyTorch does.
        input = input.contiguous()
        _C.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return _C.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def one_hot(tensor, num_classes=-1):
    """Integer classes as rows of zeros with a single one."""
    if has_torch_function_unary(tensor):
        return _handle_call(one_hot, (tensor,), locals())
    return _nn.one_hot(tensor, num_classes)


# ---- normalization ----
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalizes over the last dimensions."""
    if has_torch_function_variadic(input, weight, bias):
        return _handle_call(layer_norm, (input, weight, bias), locals())
    return _C.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides by the root of the mean square over the last dimensions."""
    if has_torch_function_variadic(input, weight):
        return _handle_call(rms_norm, (input, weight), locals())
    return _C.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalizes over groups of channels."""
    if has_torch_function_variadic(input, weight, bias):
        return _handle_call(group_norm, (input, weight, bias), locals())
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    return _C.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-5,
):
    """Normalizes channels over the batch in training, by the running statistics otherwise."""
    if has_torch_function_variadic(input, running_mean, running_var, weight, bias):
        return _handle_call(batch_norm, (input, running_mean, running_var, weight, bias), locals())
    if training and prod((*input.shape[:1], *input.shape[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    return _C.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Normalizes each channel of each example."""
    if has_torch_function_variadic(input, running_mean, running_var, weight, bias):
        return _handle_call(
            instance_norm, (input, running_mean, running_var, weight, bias), locals()
        )
    return _C.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the p-norm along `dim`."""
    if has_torch_function_unary(input):
        return _handle_call(normalize, (input,), locals())
    norm = _C.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return _C.div(input, norm) if out is None else _C.div(input, norm, out=out)


# ---- pooling ----
def max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest element of each window."""
    if has_torch_function_unary(input):
        return _handle_call(max_pool1d, (input,), locals())
    function = _C.max_pool1d_with_indices if return_indices else _C.max_pool1d
    return function(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest element of each window."""
    if has_torch_function_unary(input):
        return _handle_call(max_pool2d, (input,), locals())
    function = _nn.max_pool2d_with_indices if return_indices else _C.max_pool2d
    return function(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The largest element of each window."""
    if has_torch_function_unary(input):
        return _handle_call(max_pool3d, (input,), locals())
    function = _nn.max_pool3d_with_indices if return_indices else _C.max_pool3d
    return function(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def _output_size(output_size, sizes):
    """One size a pooled dimension, None standing for the input's."""
    if isinstance(output_size, int):
        return output_size
    pairs = zip(output_size, sizes[-len(output_size) :])
    return [size if wanted is None else wanted for wanted, size in pairs]


def adaptive_avg_pool2d(input, output_size):
    """Averages windows so that the result has the given size."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_avg_pool2d, (input,), locals())
    return _nn.adaptive_avg_pool2d(input, _output_size(output_size, input.size()))


def adaptive_avg_pool3d(input, output_size):
    """Averages windows so that the result has the given size."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_avg_pool3d, (input,), locals())
    return _nn.adaptive_avg_pool3d(input, _output_size(output_size, input.size()))


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest element of windows so that the result has the given size."""
    if has_torch_function_unary(input):
        return _handle_call(adaptive_max_pool2d, (input,), locals())
    result = _nn.adaptive_max_pool2d(input, _output_size(output_size, input.size()))
    return result if return_indices else result[0]


name_missing_operators(globals())
