"""The parameters `weight` and `bias` that most layers have: made, filled and read in one way."""

import math
import os

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


# Bytes that a tensor takes beside its numbers, at least.
_LEAST_OF_A_TENSOR = 64


def check_memory(what, count, bytes_of_each):
    """MemoryError where `count` times tensors of so many bytes are more than the memory.

    Without it, a huge number of layers is made until nothing is left of the memory.
    """
    each = sum(size + _LEAST_OF_A_TENSOR for size in bytes_of_each)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if each * count > memory:
        raise MemoryError(
            f"{count} times {what} takes more than {each * count} bytes, this machine has {memory}"
        )


def weight_and_bias(module):
    """The two tensors that a call uses.

    Reading the table is many times faster than module.weight, which Python looks for on the
    instance and the class first: it is read where neither has a weight of its own
    (Module.__init_subclass__), and where nobody took the names off it.
    """
    members = module.__dict__
    if module._has_plain_weights and "weight" not in members and "bias" not in members:
        table = members["_parameters"]
        if "weight" in table and "bias" in table:
            return table["weight"], table["bias"]
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
