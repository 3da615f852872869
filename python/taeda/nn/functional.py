"""Functions of neural networks with PyTorch's signatures; the operators behind them are in C++."""

from taeda._C._nn import *  # noqa: F403
from taeda.nn import _checks
from taeda.nn import _generated_functional as _generated
from taeda.nn._losses import (  # noqa: F401
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
)
from taeda.nn._operators import _C, _nn, name_missing_operators
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


def sigmoid(input):
    """1 / (1 + exp(-input))"""
    return input.sigmoid()


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


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


def _dropped_channels(input, p, training, inplace, is_single):
    """Whole channels dropped; a single example has no batch dimension yet."""
    batch = input.unsqueeze(0) if is_single else input
    function = _C.feature_dropout_ if inplace else _C.feature_dropout
    result = function(batch, p, training)
    return (result.squeeze_(0) if inplace else result.squeeze(0)) if is_single else result


def _warn_of_dropout(name, dims, spatial):
    from warnings import warn

    warn(
        f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of (N, C, L) or (C, L)."""
    if has_torch_function_unary(input):
        return _handle_call(dropout1d, (input,), locals())
    _checks.probability(p)
    dims = input.dim()
    if dims not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dims}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _dropped_channels(input, p, training, inplace, dims == 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of (N, C, H, W)."""
    if has_torch_function_unary(input):
        return _handle_call(dropout2d, (input,), locals())
    _checks.probability(p)
    dims = input.dim()
    if dims == 3:
        from warnings import warn

        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    elif dims != 4:
        _warn_of_dropout("dropout2d", dims, 2)
    return _dropped_channels(input, p, training, inplace, False)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    if has_torch_function_unary(input):
        return _handle_call(dropout3d, (input,), locals())
    _checks.probability(p)
    dims = input.dim()
    if dims not in (4, 5):
        _warn_of_dropout("dropout3d", dims, 3)
    # As in PyTorch, only five dimensions have a batch.
    return _dropped_channels(input, p, training, inplace, dims != 5)


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


# ---- normalization ----
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
