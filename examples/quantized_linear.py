"""A weight of int8 numbers and one scale a row, as a tensor that layers use like any other.

    ./run python examples/quantized_linear.py

`Int8Weight` holds the numbers and the scales and has no memory of its own. Products with it run on
the numbers and scale the result, so that no float copy of the weight is made; whatever else happens
to it gets the weight as plain floats.
"""

from taeda.utils._pytree import tree_map

import taeda
from taeda import nn

aten = taeda.ops.aten


class Int8Weight(taeda.Tensor):
    """`values * scale`; `scale` has one entry per row, or per column of a transposed weight."""

    @staticmethod
    def __new__(cls, values, scale):
        return taeda.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), dtype=scale.dtype, device=values.device
        )

    def __init__(self, values, scale):
        self.values = values
        self.scale = scale

    @classmethod
    def quantize(cls, weight):
        """Rows scaled so that their largest number is 127."""
        scale = weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
        return cls((weight.detach() / scale).round().to(taeda.int8), scale)

    def dequantize(self):
        return self.values.to(self.scale.dtype) * self.scale

    def __repr__(self):
        return f"Int8Weight(shape={tuple(self.shape)}, dtype={self.dtype})"

    def __tensor_flatten__(self):
        return ["values", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, tensors, context, outer_size, outer_stride):
        return cls(tensors["values"], tensors["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        handler = _HANDLERS.get(func)
        if handler:
            return handler(*args, **(kwargs or {}))
        args, kwargs = tree_map(_as_floats, (args, kwargs or {}))
        return func(*args, **kwargs)


def _as_floats(value):
    return value.dequantize() if isinstance(value, Int8Weight) else value


def _product(a, b):
    """a @ b; scales of columns are taken out of the product."""
    if isinstance(b, Int8Weight) and not isinstance(a, Int8Weight) and b.scale.shape[0] == 1:
        return taeda.mm(a, b.values.to(a.dtype)) * b.scale
    return taeda.mm(_as_floats(a), _as_floats(b))


def _product_and_sum(bias, a, b, *, beta=1, alpha=1):
    return _product(a, b) * alpha + bias * beta


_HANDLERS = {
    aten.detach.default: lambda w: Int8Weight(w.values, w.scale),
    aten.t.default: lambda w: Int8Weight(w.values.t(), w.scale.t()),
    aten.clone.default: lambda w, **_: Int8Weight(w.values.clone(), w.scale.clone()),
    aten.mm.default: _product,
    aten.addmm.default: _product_and_sum,
}


def quantize_(model):
    """Replaces the weight of every Linear by a quantized one, which takes no gradient."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            weight = Int8Weight.quantize(module.weight)
            module.weight = nn.Parameter(weight, requires_grad=False)
    return model


def weight_bytes(model):
    """Bytes of the weights of linear layers."""
    layers = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
    parts = [[w.values, w.scale] if isinstance(w, Int8Weight) else [w] for w in layers]
    return sum(p.nbytes for group in parts for p in group)


def main():
    taeda.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64))
    x = taeda.randn(32, 256)
    expected, before = model(x).detach(), weight_bytes(model)
    result = quantize_(model)(x)
    error = ((result - expected).square().sum() / expected.square().sum()).sqrt().item()
    print(f"weights: {before} bytes, then {weight_bytes(model)}")
    print(f"relative error of the result: {error:.4f}")


if __name__ == "__main__":
    main()
