"""Activation functions as modules."""

from warnings import warn

from taeda._own_names import adopt_private_classes
from taeda.nn import functional as F
from taeda.nn import init as _init
from taeda.nn.modules._along_dim import LogSoftmax, Softmax, Softmax2d, Softmin
from taeda.nn.modules._member_calls import calls
from taeda.nn.modules._multihead_attention import MultiheadAttention
from taeda.nn.modules._weights import add_parameters
from taeda.nn.modules.module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Activation(Module):
    """The printed form: settings by name, and the flag of overwriting where it is set."""

    _shown = ()

    def extra_repr(self):
        parts = [f"{name}={getattr(self, name)}" for name in self._shown]
        if getattr(self, "inplace", False):
            parts.append("inplace=True")
        return ", ".join(parts)


class _WithInplace(_Activation):
    """An activation that can overwrite its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class ReLU(_WithInplace):
    """max(0, input)"""

    @calls(F, "relu", keywords=("inplace",))
    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class SiLU(_WithInplace):
    """input * sigmoid(input)"""

    @calls(F, "silu", keywords=("inplace",))
    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(_WithInplace):
    """input * tanh(softplus(input))"""

    @calls(F, "mish", keywords=("inplace",))
    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class SELU(_WithInplace):
    """An ELU scaled so that activations keep mean zero and variance one."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class Hardsigmoid(_WithInplace):
    """input / 6 + 1 / 2 between 0 and 1."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardswish(_WithInplace):
    """input * hardsigmoid(input)"""

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class Threshold(_Activation):
    """The input where it exceeds `threshold`, `value` elsewhere."""

    __constants__ = ["threshold", "value", "inplace"]
    _shown = ("threshold", "value")

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class RReLU(_Activation):
    """A leaky ReLU whose slope is random between `lower` and `upper` in training."""

    __constants__ = ["lower", "upper", "inplace"]
    _shown = ("lower", "upper")

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """The input between `min_val` and `max_val`."""

    __constants__ = ["min_val", "max_val", "inplace"]
    _shown = ("min_val", "max_val")

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        if min_value is not None:
            min_val = _renamed("min_value", "min_val", min_value)
        if max_value is not None:
            max_val = _renamed("max_value", "max_val", max_value)
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _renamed(old, new, value):
    warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`",
        FutureWarning,
        stacklevel=3,
    )
    return value


class ReLU6(Hardtanh):
    """The input between 0 and 6."""

    _shown = ()

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)


class _WithAlpha(_Activation):
    """An activation with the scale of its negative part."""

    __constants__ = ["alpha", "inplace"]
    _shown = ("alpha",)

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class ELU(_WithAlpha):
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""

    @calls(F, "elu", "alpha", "inplace")
    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_WithAlpha):
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Activation):
    """The input where it is positive, negative_slope * input elsewhere."""

    __constants__ = ["inplace", "negative_slope"]
    _shown = ("negative_slope",)

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    @calls(F, "leaky_relu", "negative_slope", "inplace")
    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class PReLU(_Activation):
    """A leaky ReLU whose slope is learned, one for all or one per channel."""

    __constants__ = ["num_parameters"]
    _shown = ("num_parameters",)

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        add_parameters(self, {"weight": (num_parameters,)}, device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """The slope given where the module was made."""
        _init.constant_(self.weight, self.init)

    @calls(F, "prelu", "weight")
    def forward(self, input):
        return F.prelu(input, self.weight)


class GELU(_Activation):
    """input * Φ(input), Φ the normal distribution, or its form with tanh."""

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    @calls(F, "gelu", keywords=("approximate",))
    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(_Activation):
    """The first half of a dimension times the sigmoid of the second."""

    __constants__ = ["dim"]
    _shown = ("dim",)

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)


class Softplus(_Activation):
    """log(1 + exp(beta * input)) / beta, and the input itself above the threshold."""

    __constants__ = ["beta", "threshold"]
    _shown = ("beta", "threshold")

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class _Shrink(_Activation):
    """A function that is zero between -lambd and lambd."""

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """The input outside [-lambd, lambd], zero inside."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The input moved by lambd toward zero, which it does not cross."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        return input.tanh()


class Sigmoid(Module):
    """1 / (1 + exp(-input))"""

    def forward(self, input):
        return input.sigmoid()


class LogSigmoid(Module):
    """The logarithm of the sigmoid."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """input / (1 + |input|)"""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input)"""

    def forward(self, input):
        return F.tanhshrink(input)


adopt_private_classes(globals())
