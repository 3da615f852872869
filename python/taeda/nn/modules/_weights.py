"""The parameters `weight` and `bias` that most layers have: made, filled and read in one way."""

import math

from taeda import _C
from taeda.nn import init
from taeda.nn.parameter import Parameter


def add_parameters(module, shapes, device, dtype):
    """Registers one parameter per name, with any values; None where the shape is None."""
    for name, shape in shapes.items():
        parameter = None
        if shape is not None:
            parameter = Parameter(_C.empty(shape, device=device, dtype=dtype))
        module.register_parameter(name, parameter)


def weight_and_bias(module):
    """The two tensors that a call uses.

    Reading the table is many times faster than module.weight, which Python looks for on the
    instance and the class first. Who computes a weight takes its name off the table.
    """
    table = module._parameters
    try:
        return table["weight"], table["bias"]
    except KeyError:
        return module.weight, module.bias


def fill_uniform(weight, bias):
    """Weight and bias uniform within one over the root of the number of inputs."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


def fill_affine(weight, bias):
    """Scale one, shift zero."""
    if weight is not None:
        init.ones_(weight)
    if bias is not None:
        init.zeros_(bias)
