"""Initial values of parameters, written in place and without recording."""

import math
from functools import wraps
from warnings import warn

from taeda import _C
from taeda._C import _linalg
from taeda.autograd.grad_mode import no_grad
from taeda.overrides import handle_torch_function, has_torch_function_variadic

# The gain of each function; leaky_relu's depends on its slope.
_GAINS = {
    **dict.fromkeys(["linear", "sigmoid"], 1),
    **dict.fromkeys(["conv1d", "conv2d", "conv3d"], 1),
    **dict.fromkeys(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"], 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity, param=None):
    """By how much the values before a nonlinearity are scaled so that they keep their spread."""
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _overridden(function, tensor, **options):
    """Hands a call over; all arguments are given by name."""
    return handle_torch_function(function, (tensor,), tensor=tensor, **options)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Values uniform in [a, b)."""
    if has_torch_function_variadic(tensor):
        return _overridden(uniform_, tensor, a=a, b=b, generator=generator)
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Values normal with the mean and standard deviation."""
    if has_torch_function_variadic(tensor):
        return _overridden(normal_, tensor, mean=mean, std=std, generator=generator)
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Values normal with the mean and standard deviation, those outside [a, b] left out.

    So far from the mean that next to no draw is kept, where PyTorch goes on drawing, values left
    after many rounds are the end of [a, b] that is closer to the mean.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )

    def probability_below(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with no_grad():
        if probability_below(b) - probability_below(a) > 0.3:
            return _draw_within(tensor, mean, std, a, b, generator)
        return _draw_in_tail(tensor, mean, std, a, b, generator)


def _draw_within(tensor, mean, std, a, b, generator):
    """Normal values, drawn again where they are outside [a, b], which is seldom."""
    low, high = tensor.new_tensor([a, b], device="cpu").tolist()
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        is_outside = (result < low) | (result > high)
        if not is_outside.any():
            break
        again = _C.empty_like(result).normal_(mean, std, generator=generator)
        result = _C.where(is_outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)


_MOST_ROUNDS = 1000


def _draw_in_tail(tensor, mean, std, a, b, generator):
    """Uniform values in [a, b], each kept with its density over the largest one's.

    Far from the mean that is next to none: after many rounds what is left is the densest place.
    """
    densest = max(a, min(mean, b))
    largest = -0.5 * ((densest - mean) / std) ** 2
    result = tensor.uniform_(a, b, generator=generator)
    candidate, pending = result, None
    for _ in range(_MOST_ROUNDS):
        log_density = ((candidate - mean) / std) ** 2 * -0.5 - largest
        is_refused = _C.empty_like(result).uniform_(generator=generator).log_() > log_density
        pending = is_refused if pending is None else pending & is_refused
        if not pending.any():
            break
        candidate = _C.empty_like(result).uniform_(a, b, generator=generator)
        result = _C.where(pending, candidate, result)
    else:
        result = _C.where(pending, densest, result)
    return tensor if result is tensor else tensor.copy_(result)


def constant_(tensor, val):
    """One value everywhere."""
    if has_torch_function_variadic(tensor):
        return _overridden(constant_, tensor, val=val)
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """Zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity matrix, cut to the matrix's size."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_C.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """Kernels of convolutions that copy as many channels as there are, in each group."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    outputs = tensor.size(0) // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(outputs, tensor.size(1))):
                tensor[(group * outputs + channel, channel, *center)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many values go into an element of the output, and out of one of the input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def _xavier_std(tensor, gain):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / (fan_in + fan_out))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform values whose spread is kept both forward and backward (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal values whose spread is kept both forward and backward (Glorot and Bengio, 2010)."""
    std = _xavier_std(tensor, gain)
    with no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    """The standard deviation, or None where there is nothing to initialize."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform values whose spread is kept through rectifiers (He et al., 2015)."""
    if has_torch_function_variadic(tensor):
        options = {"a": a, "mode": mode, "nonlinearity": nonlinearity, "generator": generator}
        return _overridden(kaiming_uniform_, tensor, **options)
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal values whose spread is kept through rectifiers (He et al., 2015)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    with no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A matrix with orthogonal rows or columns (Saxe et al., 2013)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    drawn = tensor.new_empty((rows, tensor.numel() // rows))
    drawn.normal_(0, 1, generator=generator)
    is_wide = rows < drawn.size(1)
    with no_grad():
        q, r = _linalg.qr(drawn.t() if is_wide else drawn)
        q = q * r.diagonal().sign()  # uniform over all such matrices
        tensor.copy_((q.t() if is_wide else q).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values, of which a fraction of each column is zero (Martens, 2010)."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    num_zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[_C.randperm(rows)[:num_zeros], column] = 0
    return tensor


def _deprecated(function):
    old, new = function.__name__[:-1], function.__name__

    @wraps(function)
    def call(*args, **kwargs):
        warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    call.__name__ = old
    return call


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
