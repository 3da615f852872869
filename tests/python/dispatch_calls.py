"""Calls whose operators, as a dispatch mode sees them, are compared with PyTorch's.

A call is an expression over `t`, the package, and the tensors of `operands`; `seen` runs one and
writes down each operator with the kinds of its arguments.
"""

import operator

SYMBOLS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "&": "and_", "|": "or_", "^": "xor", "<<": "lshift", ">>": "rshift",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
BITS = ("&", "|", "^", "<<", ">>")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
NAMED = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "rsub",
]
NAMED_BITS = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
]


def with_numbers():
    """Tensor with number, number with tensor, both, and in place, for every binary operator."""
    for symbol in SYMBOLS:
        x, number = ("i", "3") if symbol in BITS else ("x", "2")
        yield f"{x} {symbol} {number}"
        yield f"{number} {symbol} {x}"
        yield f"{x} {symbol} {x}"
        if symbol not in BITS:
            yield f"x {symbol} 2.5"
            yield f"i {symbol} 2"
        if symbol not in COMPARISONS:
            name = SYMBOLS[symbol].rstrip("_")
            yield f"op.i{name}({x}, {number})"
            yield f"op.i{name}({x}, {x})"
    for name in (*NAMED, *NAMED_BITS):
        x, number = ("i", "3") if name in NAMED_BITS else ("x", "2")
        yield f"t.{name}({x}, {number})"
        yield f"t.{name}({x}, {x})"
        if name != "rsub":
            yield f"{x}.{name}({number})"
            yield f"{x}.{name}_({number})"
            yield f"{x}.{name}_({x})"
    for name in ("mul", "sub", "div", "multiply", "subtract", "divide", "true_divide"):
        yield f"t.{name}(2, x)"
    for name in ("bitwise_and", "bitwise_left_shift", "remainder", "floor_divide"):
        yield f"t.{name}(3, i)"


ARITHMETIC = """
t.add(x, 2, alpha=3) | t.add(x, y, alpha=3) | t.sub(x, 2, alpha=3) | t.rsub(x, 2, 3)
t.div(x, 2, rounding_mode='floor') | t.div(x, y, rounding_mode='trunc')
x.div_(2, rounding_mode='floor') | t.divide(x, 2, rounding_mode='floor')
t.neg(x) | -x | t.abs(x) | abs(x) | t.negative(x) | t.absolute(x) | t.addcmul(x, x, y, value=2)
t.addcdiv(x, x, y) | t.lerp(x, y, 0.5) | t.lerp(x, y, y) | t.square(x) | +x
t.pow(2, x) | t.pow(x, y) | x.pow_(y) | x ** 0.5 | 2.5 ** x | t.logical_and(x, y)
t.logical_or(x, y) | t.logical_xor(x, y) | t.logical_not(x) | ~b | ~i | t.bitwise_not(i)
t.maximum(x, y) | t.minimum(x, y) | t.fmax(x, y) | t.fmin(x, y) | t.clamp(x, 0, 1)
t.clamp(x, min=0) | t.clamp(x, max=y) | t.clamp_min(x, 0.5) | t.clamp_max(x, y) | x.clamp_(0, 1)
t.clip(x, 0, 1) | t.atan2(x, y) | t.isclose(x, y) | t.allclose(x, y) | t.equal(x, y)
"""
POINTWISE = """
t.exp(x) | t.exp_(x) | x.exp_() | t.log(x) | t.log2(x) | t.log10(x) | t.log1p(x) | t.expm1(x)
t.exp2(x) | t.sqrt(x) | t.rsqrt(x) | t.sin(x) | t.cos(x) | t.tan(x) | t.asin(x) | t.acos(x)
t.atan(x) | t.sinh(x) | t.cosh(x) | t.tanh(x) | t.asinh(x) | t.acosh(x) | t.atanh(x) | t.erf(x)
t.erfc(x) | t.sigmoid(x) | t.reciprocal(x) | t.floor(x) | t.ceil(x) | t.trunc(x) | t.round(x)
t.round(x, decimals=2) | t.frac(x) | t.sign(x) | t.sgn(x) | t.fix(x) | t.nan_to_num(x)
t.isnan(x) | t.isinf(x) | t.isfinite(x) | t.relu(x) | t.relu_(x) | F.relu(x) | F.gelu(x)
F.gelu(x, approximate='tanh') | F.silu(x) | F.leaky_relu(x) | F.leaky_relu(x, 0.2)
F.hardtanh(x) | F.softmax(x, 1) | F.log_softmax(x, 1)
t.softmax(x, 0, dtype=t.float64) | F.mse_loss(x, y) | F.l1_loss(x, y) | F.dropout(x, 0.5, False)
F.layer_norm(x, (3,)) | F.linear(x, m) | F.linear(x, m, v) | F.embedding(i, m)
F.cross_entropy(x, c) | F.nll_loss(x, c) | F.one_hot(c, 4)
t.where(b, x, y) | t.where(b, x, 2) | t.where(b, 2, x) | t.where(b) | x.masked_fill(b, 2.0) | x.masked_fill_(b, 1) | x.masked_fill(b, s)
"""
REDUCTIONS = """
x.sum() | x.sum(1) | x.sum((0, 1), keepdim=True) | x.mean() | x.mean(0) | x.prod() | x.prod(1)
x.max() | x.max(1) | t.max(x, y) | x.min() | x.min(0) | x.amax() | x.amax(1) | x.amin((0, 1))
x.argmax() | x.argmax(1) | x.argmin(0, True) | b.any() | b.any(1) | b.all() | b.all(0)
x.var() | x.var(1) | x.std() | x.std(0, unbiased=False) | x.var(1, correction=0)
t.var_mean(x, 1) | t.std_mean(x) | x.cumsum(0) | x.cumprod(1) | x.sort() | x.sort(0, True)
x.sort(stable=True) | x.argsort() | x.topk(2) | x.logsumexp(1) | x.count_nonzero()
x.count_nonzero(1) | x.nonzero() | t.aminmax(x) | x.msort()
"""
MATRICES = """
x @ m | t.mm(x, m) | t.matmul(x, v) | t.matmul(v, v) | t.dot(v, v) | t.mv(m, v) | t.outer(v, v)
t.addmm(x, x, m) | t.addmm(v, x, m, beta=2) | t.bmm(x[None], m[None]) | x[None] @ m
t.baddbmm(x[None], x[None], m[None]) | t.einsum('ij,jk->ik', x, m) | t.tril(m) | t.triu(m, 1)
t.ger(v, v) | t.addmv(v, m, v)
"""
VIEWS = """
x.view(6) | x.view(-1, 2) | x.reshape(6) | x.reshape(3, 2) | x.t().reshape(6) | x.t() | x.T | x.mT
x.transpose(0, 1) | x.permute(1, 0) | x.unsqueeze(0) | x[None] | x.squeeze() | x[:1].squeeze(0)
x.expand(4, 2, 3) | x.expand_as(x) | x.select(0, 1) | x[0] | x[-1] | x[:, 1] | x[0:1] | x[:, ::2]
x[..., 0] | x[0, 1] | x.narrow(1, 0, 2) | x.split(1) | x.split([1, 2], 1) | x.chunk(3, 1)
x.unbind() | list(x) | x.diagonal() | x.flatten() | x.ravel() | x.unflatten(1, (3, 1))
x.movedim(0, 1) | x.swapaxes(0, 1) | x.as_strided((2, 2), (3, 1)) | x.unfold(1, 2, 1) | x.detach()
x.view_as(x) | x.contiguous() | x.t().contiguous() | x.clone() | t.real(z) | t.imag(z)
t.view_as_real(z) | z.conj() | t.conj_physical(z) | x.broadcast_to(2, 2, 3) | t.atleast_2d(v)
x.flip(0) | x.roll(1, 0) | x.rot90() | x.repeat(2, 1) | x.tile(2) | x.view(t.int32) | x.adjoint()
t.cat([x, y]) | t.cat([x, y], 1) | t.stack([x, y]) | t.hstack([x, y]) | t.vstack([x, y])
t.slice_scatter(x, y[:1], 0, 0, 1) | t.select_scatter(x, v, 0, 1) | t.diagonal_scatter(m, v)
"""
INDEXING = """
x[c] | x[b] | x[c, c] | x[:, c] | x.gather(1, i) | x.index_select(0, c) | x.take_along_dim(i, 1)
x.scatter(1, i, y) | x.scatter(1, i, 2.0) | x.scatter_(1, i, y) | x.scatter_add(1, i, y)
x.index_add(0, c, y) | x.index_copy(0, c, y) | x.index_fill(0, c, 2) | x.masked_select(b)
x.index_put((c,), y) | x.__setitem__(0, y[0]) | x.__setitem__((slice(None), 1), y[:, 1])
x.__setitem__(c, y) | x.copy_(y) | x.fill_(2) | x.fill_(s) | x.zero_() | s.item() | x.__setitem__(0, 2) | x.__setitem__(b, 2.0)
"""
FACTORIES = """
t.zeros(2) | t.ones(2, 3) | t.full((2,), 3) | t.full((2,), 2.5, dtype=t.float64) | t.empty(2)
t.arange(3) | t.arange(1, 3) | t.arange(0, 1, 0.5) | t.eye(2) | t.eye(2, 3) | t.linspace(0, 1, 3)
t.logspace(0, 1, 3) | t.zeros_like(x) | t.ones_like(x, dtype=t.int64) | t.full_like(x, 2)
t.empty_like(x) | t.empty_strided((2, 2), (1, 2)) | x.new_zeros(2) | x.new_ones(2) | x.new_empty(2)
x.new_full((2,), 3) | t.scalar_tensor(2.0) | t.rand(2) | t.randn(2) | t.randint(5, (2,))
t.randint(1, 5, (2,)) | t.randperm(3) | t.rand_like(x) | t.randn_like(x) | t.bernoulli(x)
t.normal(x, y) | x.uniform_() | x.normal_() | x.bernoulli_(0.5) | x.random_(5) | x.exponential_()
t.tensor([1.0]) | t.complex(x, y) | t.randint_like(x, 5)
"""
CONVERSIONS = """
x.to(t.float64) | x.to(t.float32) | x.double() | x.half() | x.int() | x.bool() | x.to(y) | x.type_as(i)
x.to('cpu') | x.cpu() | x.to(t.float64, copy=True) | x.float()
x.requires_grad_() | x.is_floating_point() | x.resize_(1) | x.resize_as_(v) | x.bfloat16()
"""
GROUPS = (ARITHMETIC, POINTWISE, REDUCTIONS, MATRICES, VIEWS, INDEXING, FACTORIES, CONVERSIONS)


def calls():
    """Every expression, once."""
    listed = [part.strip() for g in GROUPS for line in g.split("\n") for part in line.split(" | ")]
    return list(dict.fromkeys([*with_numbers(), *(part for part in listed if part)]))


def operands(t, functional):
    """Fresh tensors by the names that the expressions use."""
    x = t.tensor([[0.25, 0.5, 0.75], [0.125, 0.375, 0.625]])
    return {
        "t": t,
        "F": functional,
        "op": operator,
        "x": x,
        "y": x.flip(1).contiguous(),
        "i": t.tensor([[0, 1, 2], [2, 0, 1]]),
        "b": t.tensor([[True, False, True], [False, True, True]]),
        "m": t.arange(9.0).reshape(3, 3),
        "v": t.tensor([1.0, 2.0, 3.0]),
        "c": t.tensor([1, 0]),
        "s": t.tensor(2.0),
        "z": t.tensor([1 + 2j, 3 - 1j]),
    }


# What PyTorch writes out where a caller gave nothing.
WRITTEN_OUT = {("device", "cpu"), ("layout", "torch.strided"), ("pin_memory", "False")}


def described(t, value):
    """The kind of an argument, the same text in both packages."""
    if isinstance(value, t.Tensor):
        return f"{str(value.dtype).split('.')[-1]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(described(t, v) for v in value)}]"
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return repr(value)
    return str(value).replace("taeda.", "torch.")


def seen(t, functional, mode_class, expression):
    """["aten.add.Tensor(float32[2, 3], 2)", ...] of one call; an error ends the list."""

    class Listing(mode_class):
        def __init__(self):
            super().__init__()
            self.lines = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            given = [described(t, a) for a in args]
            named = {k: described(t, v) for k, v in sorted(kwargs.items())}
            given += [f"{k}={v}" for k, v in named.items() if (k, v) not in WRITTEN_OUT]
            self.lines.append(f"{func}({', '.join(given)})")
            return func(*args, **kwargs)

    names = operands(t, functional)
    with Listing() as listing:
        try:
            eval(expression, names)
        except Exception as error:
            listing.lines.append(type(error).__name__)
    return listing.lines
