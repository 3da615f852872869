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
from taeda.nn import _generated_functional as _generated
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


_name_missing_operators(globals())
