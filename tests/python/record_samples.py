"""Sample calls of every differentiable operator record, for tests that go over all of them.

`samples(name, dtype, requires_grad)` gives small calls of one record: a function, its positional
and its keyword arguments. Differentiable tensors are positional and require gradients if asked for.
Values stay away from points where a derivative jumps, and repeat from run to run.

Calls come from the schema; records whose arguments hang together have an entry in
`sample_calls.CALLS`. `NOT_SAMPLED` holds those for which no call makes sense, with the reason.
"""

import random
import sys
from collections import namedtuple
from functools import cache
from pathlib import Path

import taeda

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/gen"))
import records as generator_records  # noqa: E402

Sample = namedtuple("Sample", "fn args kwargs")

NOT_SAMPLED = {
    "bernoulli.Tensor": "no function reaches it: Python's bernoulli takes a number for p",
    "scatter.reduce": "it has no derivative, as in PyTorch, and says so in backward",
    "scatter.value_reduce": "it has no derivative, as in PyTorch, and says so in backward",
    "normal.Tensor_float": "its gradient is zero by definition, though its numbers move with mean",
    "normal.float_Tensor": "its gradient is zero by definition, though its numbers move with std",
    "normal.Tensor_Tensor": "its gradient is zero by definition, as the two above",
}

# Numbers for arguments that have no default.
NUMBERS = {
    "threshold": 0.05,
    "negative_slope": 0.1,
    "weight": 0.3,
    "exponent": 3,
    "self": 2,
    "other": 2.5,
    "self_is_result": False,
    "value": 1.5,
    "decimals": 1,
    "min": -0.4,
    "max": 0.45,
    "min_val": -0.4,
    "max_val": 0.45,
    "alpha": 0.7,
    "scale": 1.2,
    "input_scale": 1.5,
    "is_result": False,
    "beta": 2,
    "lambd": 0.4,
}
POSITIVE = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "pow.Tensor_Tensor", "acosh"}
POSITIVE |= {"lerp.Tensor", "pow.Tensor_Scalar"}


@cache
def all_records():
    """Every differentiable record that is more than a call of others, by name."""
    found = generator_records.load(ROOT / "taeda/ops")
    return {r.key: r for r in found if r.kind != "composite" and r.grad}


class Make:
    """Makes the tensors of a sample; the same values for the same seed."""

    def __init__(self, dtype, requires_grad, seed):
        self.dtype, self.requires_grad = dtype, requires_grad
        self.random = random.Random(seed)

    def _numbers(self, count, low, high, is_signed):
        """Distinct numbers of magnitude low to high, no two closer than a quarter of a step."""
        step = (high - low) / max(count, 1)
        numbers = [low + step * (i + 0.25 + self.random.random() / 2) for i in range(count)]
        self.random.shuffle(numbers)
        return [x * self.random.choice((-1, 1)) if is_signed else x for x in numbers]

    def _tensor(self, shape, low, high, is_signed):
        count = 1
        for size in shape:
            count *= size
        flat = self._numbers(count, low, high, is_signed)
        if self.dtype.is_complex:
            other = self._numbers(count, low, high, is_signed)
            flat = [complex(x, y) for x, y in zip(flat, other)]
        return taeda.tensor(flat, dtype=self.dtype).view(shape)

    def __call__(self, *shape, low=0.2, high=0.9, is_signed=True):
        """A tensor to differentiate."""
        return self._tensor(shape, low, high, is_signed).requires_grad_(self.requires_grad)

    def positive(self, *shape, low=0.3, high=0.9):
        return self(*shape, low=low, high=high, is_signed=False)

    def fixed(self, *shape):
        """A tensor of numbers that is not differentiated."""
        return self._tensor(shape, 0.2, 0.9, True)

    def index(self, *values):
        return taeda.tensor(values)

    def mask(self, *shape):
        return (self._tensor(shape, 0.2, 0.9, True).abs() * 1000).to(taeda.int64) % 2 == 0


def samples(name, dtype, requires_grad=True):
    """The sample calls of a record in this dtype; none if it does not take the dtype."""
    from sample_calls import CALLS

    record = all_records()[name]
    if name in NOT_SAMPLED or not _takes(record, dtype):
        return []
    if name in CALLS:
        make = Make(dtype, requires_grad, seed=name)
        calls = [call for call in CALLS[name](make) if call is not None]
        found = [(fn or function_of(record), args, kwargs) for fn, args, kwargs in calls]
    elif record.kind == "pointwise":
        found = [_pointwise_call(record, dtype, requires_grad, shapes) for shapes in _SHAPES]
    else:
        raise LookupError(f"{name} has no sample calls: add an entry to sample_calls.CALLS")
    return [Sample(*call) for call in found]


def _takes(record, dtype):
    """Whether the record is differentiable in numbers of this dtype."""
    from sample_calls import COMPLEX_ONLY, REAL_ONLY

    if record.kind == "pointwise" and "accept" in record.data:
        return ("c" if dtype.is_complex else "f") in record.data["accept"]
    return record.key not in (REAL_ONLY if dtype.is_complex else COMPLEX_ONLY)


def function_of(record):
    """What calls the record from Python; a copy stands for an argument that is written."""
    if record.schema.is_inplace:
        method = getattr(taeda.Tensor, record.python_name)
        return lambda self, *args, **kwargs: method(self.clone(), *args, **kwargs)
    if "function" in record.variants:
        module = record.python_module
        home = getattr(taeda._C, f"_{module}") if module else taeda._C
        return getattr(home, record.python_name)
    return getattr(taeda.Tensor, record.python_name)


# Shapes of the first, second and third tensor of a pointwise call: equal, and broadcast.
_SHAPES = [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), (2, 3))]


def _pointwise_call(record, dtype, requires_grad, shapes):
    make = Make(dtype, requires_grad, seed=f"{record.key} {shapes}")
    shapes, args, kwargs = iter(shapes), [], {}
    for argument in record.schema.arguments:
        if argument.type.is_tensor:
            shape = next(shapes)
            if argument.name in ("condition", "mask"):
                value = make.mask(*shape)
            elif record.key in POSITIVE:
                low, high = (1.2, 2.2) if record.key == "acosh" else (0.3, 0.9)
                value = make.positive(*shape, low=low, high=high)
            else:
                value = make(*shape)
        elif argument.default is not None and argument.name not in ("min", "max"):
            continue
        else:
            value = NUMBERS[argument.name]
        if argument.is_kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return function_of(record), tuple(args), kwargs
