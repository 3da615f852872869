#!/usr/bin/env python3
"""Random programs, compiled and run by eager operators: the same bits.

    python tests/python/inductor_fuzz.py [--first 0] [--count 10000] [--native 0.02]

A program is a list of lines over tensors of any dtype and a few sizes that belong together. It is
traced with symbolic or real sizes, with gradients or without, compiled, and run on the sizes that
were traced and on others. Results and gradients must have eager's dtypes, sizes, strides and bits;
products may differ by rounding. Some programs write, to views and to their inputs; these are traced
ahead of time, and inputs are compared as well. A difference is shrunk to the fewest lines that show it.
"""

import argparse
import random
import re
import sys
import traceback
import warnings

from taeda._inductor import compile
from taeda.fx.aot import aot_function, make_boxed_func
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F

FLOATS = ["float32", "float64", "float16", "bfloat16"]
DTYPES = [*FLOATS, "float32", "float32", "int64", "int32", "int16", "int8", "uint8", "bool"]
DTYPES += ["complex64", "complex128"]
NUMBERS = ["2", "0.3", "-1", "True", "1e-3", "3", "0"]

POINTWISE = """
{a} + {b} | {a} * {b} | {a} - {b} | {a} / {b} | {a} - {n} | {n} * {a} | {a} / {n} | {a} ** 2
{n} - {a} | {a} < {b} | {a} == {n} | {a} >= {n} | {a} != {b} | -{a} | {a}.abs() | {a}.exp()
t.maximum({a}, {b}) | t.minimum({a}, {b}) | {a}.clamp(-1, 1) | {a}.clamp(min=0.5) | {a}.sigmoid()
t.where({b} != 0, {a}, {b}) | t.where({a} > {n}, {a}, {n}) | t.add({a}, {b}, alpha=3)
t.lerp({a}, {b}, 0.3) | t.addcmul({a}, {b}, {a}, value=2) | {a}.masked_fill({b} != 0, {n})
{a}.sin() | {a}.cos() | {a}.tanh() | {a}.floor() | {a}.round() | {a}.sign() | {a}.sqrt() | {a}.log()
{a}.rsqrt() | {a}.reciprocal() | {a}.erf() | {a} & {b} | {a}.logical_not() | {a}.relu()
t.atan2({a}, {b}) | {a}.isnan() | {a}.clone() | {a} // {n} | {a} % {n} | t.remainder({a}, {b})
F.gelu({a}) | F.silu({a}) | F.leaky_relu({a}, 0.2) | F.softplus({a}) | F.elu({a}) | {a}.square()
{a}.log1p() | {a}.expm1() | {a}.nan_to_num() | {a} * {b}.size(0) | {a} + {b}.shape[-1]
{a} * {a}.numel() | t.hypot({a}, {b}) | t.logaddexp({a}, {b}) | {a}.pow({b}) | {a}.bitwise_not()
{a}.real | {a}.conj() * {b} | {a}.angle() | t.fmod({a}, {n}) | t.div({a}, {b}, rounding_mode="floor")
{a} + t.full_like({b}, {n}) | {a} + t.ones_like({a}) | {a} * t.arange({a}.size(-1)) | {a}.mul(t.tensor({n}))
{a}.clone().add_({b}) | {a}.clone().mul_({n}).sub_(1) | {a}.clone().relu_() | F.hardtanh({a})
"""
CASTS = """
{a}.to(t.{dtype}) | {a}.float() | {a}.double() | {a}.half() | {a}.bfloat16() | {a}.long() | {a}.bool()
{a}.to(t.{dtype}) + {b} | {a}.type_as({b}) | {a}.to(t.{dtype}).to(t.{dtype}) | {a}.int()
"""
ROWS = """
{a}.sum({dim}) | {a}.sum({dim}, keepdim=True) | {a}.sum({dim}, dtype=t.{dtype}) | {a}.mean({dim})
{a}.mean({dim}, keepdim=True) | {a}.amax({dim}, keepdim=True) | {a}.amin({dim}) | {a}.prod({dim})
{a}.any({dim}) | {a}.all() | {a}.argmax({dim}, keepdim=True) | {a}.argmin({dim}) | {a}.max({dim})[0]
{a}.min({dim})[1] | {a}.softmax({dim}) | {a}.log_softmax({dim}) | {a}.max() | {a}.sum() | {a}.mean()
{a} - {a}.mean({dim}, keepdim=True) | {a} / {a}.sum({dim}, keepdim=True) | {a}.count_nonzero({dim})
{a}.var({dim}, keepdim=True) | {a}.std({dim}) | {a}.logsumexp({dim}) | {a}.cumsum({dim}) | {a}.norm()
F.layer_norm({a}, ({a}.shape[-1],)) | {a}.sum((0, -1)) | {a}.amax() | {a}.flatten().sum(0)
F.normalize({a}, dim={dim}) | F.mse_loss({a}, {a} * 2) | {a}.mean((-1, 0), keepdim=True)
"""
VIEWS = """
{a}.transpose({dim}, {dim2}) | {a}.unsqueeze({dim}) | {a}.squeeze({dim}) | {a}.reshape(-1) | {a}[0]
{a}[..., 0] | {a}[-1:] | {a}[..., 1:] | {a}[::2] | {a}[..., ::2] | {a}.flatten() | {a}.mT | {a}[None]
{a}.reshape({a}.size(0), -1) | {a}.permute(*reversed(range({a}.dim()))) | {a}.movedim(0, -1)
{a}.expand(2, *{a}.shape) | {a}.narrow({dim}, 0, 1) | {a}.select({dim}, -1) | {a}.unbind({dim})[0]
{a}.chunk(2, {dim})[-1] | {a}.split(2, {dim})[0] | {a}.diagonal() | {a}.contiguous() | {a}.expand_as({b})
{a}.unflatten(-1, (1, -1)) | {a}.view({a}.shape) | {a}.swapaxes(0, -1) | {a}.unsqueeze(-1).expand(*{a}.shape, 3)
{a}.transpose({dim}, {dim2}).contiguous() | {a}.unfold({dim}, 2, 1) | {a}.detach() | {a}.permute(*reversed(range({a}.dim()))).reshape(-1)
"""
PLACES = """
{a}.gather({dim}, places({a}, {dim})) | {a}.index_select({dim}, index({a}, {dim})) | {a}.flip({dim})
{a}.roll(1, {dim}) | {a}[index({a}, 0)] | {a}[index({a}, 0) - 1] | {a}.repeat(2, *[1] * ({a}.dim() - 1))
{a}.tril() | {a}.triu(1) | {a}.take(index({a}, 0)) | {a}.scatter({dim}, places({a}, {dim}), {n})
{a}.index_add({dim}, index({a}, {dim}), {a}) | {a}.index_fill({dim}, index({a}, {dim}), {n})
{a}.repeat_interleave(2, {dim}) | {a}[..., index({a}, -1)] | {a}.masked_fill({a}.isnan(), {n})
{a}.masked_scatter({a} != 0, {a} * 2) | F.interpolate({a}.reshape(1, 1, -1), size=7)
F.interpolate({a}.reshape(1, 1, -1, {a}.shape[-1]), size=(5, 9), mode="nearest-exact")
t.linspace({a}.reshape(-1)[0], {n}, 5) | t.logspace({n}, {a}.reshape(-1)[-1], 3, dtype=t.float32)
F.pad({a}, (1, 2)) | F.pad({a}, (1, 0), value=2.0) | F.one_hot(index({a}, 0), 64).to({a}.dtype)
"""
JOINS = """
t.cat([{a}, {a}], {dim}) | t.stack([{a}, {a} * 2], {dim}) | t.cat([{a}, {a}[:1]], 0) | t.stack([{a}, {a}])
t.cat([{a}, {a}.to(t.{dtype})], {dim}) | t.cat([{a}.reshape(-1), {b}.reshape(-1)]) | t.hstack([{a}, {a}])
t.cat([{a}.flip({dim}), {a}, {a}], {dim}) | t.cat([{a}[..., :1], {a}], -1)
"""
PRODUCTS = """
{a}.flatten(1) @ {a}.flatten(1).t() | {a}.reshape(-1) @ {a}.reshape(-1) | t.einsum("...i,...i->...", {a}, {a})
F.linear({a}, {a}.reshape(-1, {a}.shape[-1])) | {a} @ {a}.mT
"""
# Of programs that write, to their inputs as well: they are traced ahead of time.
WRITES = """
{a}.add_({n}) | {a}.mul_({b}) | {a}.zero_() | {a}.copy_({b}) | {a}.fill_({n}) | {a}.relu_() | {a}.neg_()
{a}.masked_fill_({b} != 0, {n}) | {a}.clamp_(-1, 1) | {a}[0].mul_(2) | {a}[..., 1:].add_(1) | {a}.exp_()
{a}.select({dim}, -1).sub_({n}) | {a}.transpose({dim}, {dim2}).add_({b}) | {a}.diagonal().zero_()
{a}[::2].copy_({b}[:1]) | {a}.index_fill_({dim}, index({a}, {dim}), {n}) | {a}.view(-1)[1:].mul_(0.5)
{a}.scatter_({dim}, places({a}, {dim}), {n}) | {a}.unsqueeze(-1).sigmoid_() | {a}.narrow({dim}, 0, 1).fill_(3)
{a}.chunk(2, {dim})[-1].sub_(1) | {a}.expand(2, *{a}.shape).sum(0) | {a}.detach().mul_(2)
"""
KINDS = [
    (POINTWISE, 10),
    (CASTS, 2),
    (ROWS, 4),
    (VIEWS, 5),
    (PLACES, 2),
    (JOINS, 2),
    (PRODUCTS, 0.5),
]
# Whose results depend on the order of sums in a library.
LOOSE = re.compile(
    r" @ |einsum|F\.linear|\.cumsum|index_add|\.var|\.std|logsumexp|norm|mse_loss|prod"
)
# Operators that are taken apart, and whose parts give another layout. Symbolic strides of a result
# with several operands may be in another order than eager's as well.
LAYOUT_OF_PARTS = re.compile(r"index_add")


def split_templates(text):
    """Bars between spaces part templates; the one of bitwise "or" is written {or}."""
    parts = [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]
    return [part for part in parts if part]


TEMPLATES = [([*split_templates(text)], w) for text, w in KINDS]
TEMPLATES[0][0].append("{a} | {b}")
WRITING = [*TEMPLATES, (split_templates(WRITES), 6)]


def index(a, dim):
    """Places in a dimension, the same in every run."""
    size = a.size(dim)
    return t.arange(4) % size


def places(a, dim):
    """One place for each element."""
    line = t.arange(a.size(dim)).flip(0)
    shape = [1] * a.dim()
    shape[dim] = -1
    return line.reshape(shape).expand(a.shape)


warnings.filterwarnings("ignore", "(var|std|casting|Casting).*")
SCOPE = {"t": t, "F": F, "index": index, "places": places}
MAX_NUMEL = 4000


class Program:
    """Lines over inputs; a sequence of lines without some others is one as well."""

    def __init__(
        self, seed, inputs, lines, results, has_gradients, is_symbolic, is_native, writes=False
    ):
        self.seed, self.inputs, self.lines, self.results = seed, inputs, lines, results
        self.has_gradients, self.is_symbolic, self.is_native = has_gradients, is_symbolic, is_native
        self.writes = writes

    def text(self):
        names = ", ".join(f"v{i}" for i in range(len(self.inputs)))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f({names}):\n{body}    return ({', '.join(self.results)},)\n"

    def function(self):
        scope = dict(SCOPE)
        exec(self.text(), scope)
        return scope["f"]

    def tensors(self, step=0):
        """The inputs; with a step the sizes that may change are greater by it."""
        made = []
        for number, (dtype, sizes, form) in enumerate(self.inputs):
            x = make_input(dtype, [s if isinstance(s, int) else int(s) + step for s in sizes], form)
            if self.has_gradients and x.dtype.is_floating_point and number % 3 != 2:
                x = x.detach().requires_grad_()
            made.append(x)
        return made

    def without(self, number):
        lines = self.lines[:number] + self.lines[number + 1 :]
        gone = self.lines[number].split(" ")[0]
        results = [r for r in self.results if r != gone]
        if not results:
            before = [line.split(" ")[0] for line in lines]
            results = before[-1:] or ["v0"]
        return self.changed(lines, results)

    def changed(self, lines, results):
        return Program(
            self.seed,
            self.inputs,
            lines,
            results,
            self.has_gradients,
            self.is_symbolic,
            self.is_native,
            self.writes,
        )


def make_input(dtype, sizes, form):
    """Numbers of both signs, with zeros among them, in one of a few layouts."""
    dtype = getattr(t, dtype)
    turned = form == "turned" and len(sizes) > 1
    shape = sizes[::-1] if turned else sizes
    count = 1
    for size in shape:
        count *= size
    line = (t.arange(count, dtype=t.float64) * 1.7 + 0.3).sin() * 3
    line[::7] = 0
    if dtype.is_complex:
        line = t.complex(line, line.flip(0))
    x = line.to(dtype) if dtype != t.bool else line > 0
    x = x.reshape(shape)
    if turned:
        x = x.permute(*reversed(range(len(sizes))))
    if form == "part" and len(sizes) > 0:
        x = t.cat([x, x], 0)[: sizes[0]]
    return x


def random_inputs(rng):
    """Up to four inputs whose sizes are taken from two; a text is a size that may change."""
    sizes = [str(rng.choice([2, 5, 7])), rng.choice([1, 3, 4, 16, 17, 33])]  # never equal
    shapes = [[0, 1], [0, 1], [1], [0], [0, 1, 1], [1, 0], []]
    inputs = []
    for _ in range(rng.randint(1, 4)):
        shape = [sizes[i] for i in rng.choice(shapes)]
        dtype = rng.choice(DTYPES) if rng.random() < 0.6 else "float32"
        inputs.append((dtype, shape, rng.choice(["plain", "plain", "turned", "part"])))
    return inputs


def can_join(a, b):
    try:
        t.broadcast_shapes(a.shape, b.shape)
    except RuntimeError:
        return False
    return True


def random_line(rng, values, all_templates):
    """A line that eager operators take, and its value; None where the guess was bad."""
    names = list(values)
    a = rng.choice(names[-6:] if rng.random() < 0.7 else names)
    partners = [n for n in names[-12:] if can_join(values[a], values[n])] or [a]
    (templates, _) = rng.choices(all_templates, [weight for _, weight in all_templates])[0]
    rank = max(values[a].dim(), 1)
    text = rng.choice(templates)
    while "{dtype}" in text:
        text = text.replace("{dtype}", rng.choice(DTYPES), 1)
    text = text.format(
        a=a,
        b=rng.choice(partners),
        n=rng.choice(NUMBERS),
        dim=rng.randrange(-rank, rank),
        dim2=rng.randrange(-rank, rank),
    )
    try:
        value = eval(text, SCOPE | values)
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        return None
    if not isinstance(value, t.Tensor) or value.numel() > MAX_NUMEL or value.dim() > 5:
        return None
    return text, value.detach()


def generate(seed, native_share=0.0):
    rng = random.Random(seed)
    has_gradients, is_symbolic = rng.random() < 0.4, rng.random() < 0.6
    inputs = random_inputs(rng)
    program = Program(
        seed, inputs, [], ["v0"], has_gradients, is_symbolic, rng.random() < native_share
    )
    program.writes = rng.random() < 0.15
    values = {f"v{i}": x.detach() for i, x in enumerate(program.tensors())}
    wanted = rng.randint(100, 300) if rng.random() < 0.04 else rng.randint(1, 24)
    for _ in range(4 * wanted):
        if len(program.lines) == wanted:
            break
        made = random_line(rng, values, WRITING if program.writes else TEMPLATES)
        if made:
            name = f"v{len(values)}"
            program.lines.append(f"{name} = {made[0]}")
            values[name] = made[1]
    names = list(values)[len(inputs) :] or ["v0"]
    program.results = sorted({names[-1], *rng.sample(names, min(len(names), rng.randint(0, 4)))})
    return program


def same(a, b, is_loose, has_layout=True):
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if has_layout and a.numel() and a.stride() != b.stride():
        return False
    a, b = a.detach().resolve_conj().resolve_neg(), b.detach().resolve_conj().resolve_neg()
    if is_loose and not (a.dtype.is_floating_point or a.dtype.is_complex):
        return True  # a comparison of rounded numbers
    if is_loose:
        return t.allclose(a, b, rtol=0.05, atol=0.05, equal_nan=True) or not a.isfinite().all()
    if a.dtype.is_complex:
        a, b = t.view_as_real(a), t.view_as_real(b)
    if not a.dtype.is_floating_point:
        return t.equal(a, b)
    is_equal = ((a == b) & (a.signbit() == b.signbit())) | (a.isnan() & b.isnan())
    return bool(is_equal.all())


def gradients(results, inputs):
    """Those of a sum of the results, in which each element has a weight of its own, then those of
    the last result alone, which some inputs may have no part in."""
    losses = []
    for r in results:
        if r.requires_grad:
            r = t.view_as_real(r.resolve_conj()) if r.is_complex() else r
            weight = (t.arange(r.numel()) % 5 + 1).to(r.dtype).reshape(r.shape)
            losses.append((r * weight).sum().double())
    # Inputs that were written to have a history; which of the views of one memory it goes through
    # is not compared.
    wanted = [x for x in inputs if x.requires_grad and x.is_leaf]
    if not losses or not wanted:
        return []
    found = []
    for loss in [sum(losses), losses[-1]][: len(losses)]:
        found += t.autograd.grad(loss, wanted, allow_unused=True, retain_graph=True)
    return found


def run_eager(f, inputs):
    results = f(*inputs)
    return results, gradients(results, inputs)


def compare(program, f, compiled, inputs, label, eager_inputs=None):
    """What differs, as a text; None where nothing does."""
    want, want_grads = run_eager(f, eager_inputs or inputs)
    have = compiled(*inputs)
    have_grads = gradients(have, inputs)
    is_loose = bool(LOOSE.search(program.text()))
    has_layout = not program.is_symbolic and not LAYOUT_OF_PARTS.search(program.text())
    for name, a, b in zip(program.results, want, have, strict=True):
        if not same(a, b, is_loose, has_layout):
            return f"{label}: {name} differs\neager    {describe(a)}\ncompiled {describe(b)}"
        if a.requires_grad != b.requires_grad:
            return f"{label}: {name} requires a gradient: eager {a.requires_grad}"
    if len(want_grads) != len(have_grads):
        return f"{label}: eager has {len(want_grads)} gradients, compiled {len(have_grads)}"
    # A gradient that comes through a result which is an input itself, or a view of one, or which
    # shares memory with another result, is added to the sum of all the others; in eager each is
    # added by itself.
    shares = [r.untyped_storage().data_ptr() for r in want if r.requires_grad]
    adds_otherwise = len(set(shares)) < len(shares) or any(
        x.untyped_storage().data_ptr() in shares for x in eager_inputs or inputs
    )
    for number, (a, b) in enumerate(zip(want_grads, have_grads, strict=True)):
        # Gradients follow the layout of those that were traced.
        if not same(a, b, is_loose or adds_otherwise, has_layout=False):
            if adds_otherwise and is_as_close(program, f, number, a, b, eager_inputs or inputs):
                continue
            return f"{label}: gradient {number}\neager    {describe(a)}\ncompiled {describe(b)}"
    return None


def is_as_close(program, f, number, eager, compiled, inputs):
    """Whether a gradient of short numbers is as near to that of doubles as eager's is.

    Large terms that cancel leave what the order of sums makes of them.
    """
    if program.writes or eager is None or eager.dtype not in (t.bfloat16, t.float16):
        return False
    wide = [
        x.detach().double().requires_grad_(x.requires_grad) if x.is_floating_point() else x
        for x in inputs
    ]
    exact = run_eager(f, wide)[1][number].nan_to_num()
    error = (compiled.double().nan_to_num() - exact).abs()
    allowed = (eager.double().nan_to_num() - exact).abs() + 0.05 + 0.05 * exact.abs()
    return bool((error <= allowed).all())


def describe(x):
    if x is None:
        return "None"
    return f"{x.dtype} {tuple(x.shape)} {x.stride()} {x.detach().flatten()[:8].tolist()}"


class NotCompiledError(Exception):
    """The compiler says that it does not take the program."""


def check_writes(program, f):
    """The same for a program that writes: results, gradients and what is in the inputs behind."""

    def kernels(gm, inputs):
        compiled = compile(gm, inputs, native="never")
        if program.is_native:
            compiled.compile_native()
            compiled.check()
        return make_boxed_func(compiled)

    compiled = aot_function(f, kernels, dynamic=program.is_symbolic)
    for label in ("first call", "second call"):
        mine, other = program.tensors(), program.tensors()
        problem = compare(program, f, compiled, mine, label, other)
        if problem:
            return problem
        is_loose = bool(LOOSE.search(program.text()))
        for number, (a, b) in enumerate(zip(other, mine, strict=True)):
            if not same(a, b, is_loose):
                return f"{label}: input {number}\neager    {describe(a)}\ncompiled {describe(b)}"
    return None


def check(program):
    """A text where the compiled program differs from eager, or fails; None where all is well."""
    f, inputs = program.function(), program.tensors()
    try:
        run_eager(f, inputs)
    except (RuntimeError, IndexError, TypeError, ValueError):
        return None  # a line that shrinking took away
    mode = "symbolic" if program.is_symbolic else "real"
    try:
        if program.writes:
            return check_writes(program, f)
        gm = make_fx(f, tracing_mode=mode, pre_dispatch=True)(*inputs)
        compiled = compile(gm, inputs, native="never")
        problem = compare(program, f, compiled, inputs, "interpreted")
        if problem or not program.is_symbolic:
            return problem or check_native(program, f, compiled, inputs)
        if not has_guards(gm):
            others = program.tensors(step=4)
            try:
                run_eager(f, others)
            except (RuntimeError, IndexError):
                return None
            try:
                problem = compare(program, f, compiled, others, "other sizes")
            except RuntimeError as error:
                # The size is a constant of the trace.
                if not re.search("was traced (with|for inputs with)", str(error)):
                    raise
        return problem or check_native(program, f, compiled, inputs)
    except NotImplementedError as error:
        raise NotCompiledError(str(error)) from error
    except Exception:
        return traceback.format_exc(limit=-4)


def check_native(program, f, compiled, inputs):
    if not program.is_native:
        return None
    compiled.compile_native()
    return compare(program, f, compiled.check(), inputs, "native")


def has_guards(gm):
    """Whether the trace took something about sizes for granted."""
    for node in gm.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, t.Tensor):
            for size in val.shape:
                if isinstance(size, t.SymInt):
                    return bool(size.node.shape_env.guards)
    return False


def shrink(program, differs):
    """The fewest lines for which `differs` is true."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for number in reversed(range(len(program.lines))):
            less = program.without(number)
            if differs(less):
                program, is_smaller = less, True
                break
    for result in list(program.results):
        rest = [r for r in program.results if r != result]
        if rest and differs(program.changed(program.lines, rest)):
            program = program.changed(program.lines, rest)
    return program


def differs(program):
    try:
        return check(program) is not None
    except (NotCompiledError, NameError):
        return False


def explain(program):
    """The smallest program that differs, and how."""
    small = shrink(program, differs)
    inputs = "".join(f"# v{i}: {one}\n" for i, one in enumerate(small.inputs))
    flags = f"gradients={small.has_gradients} symbolic={small.is_symbolic} writes={small.writes}"
    return f"# seed {small.seed} {flags}\n{inputs}{small.text()}{check(small)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--native", type=float, default=0.02, help="share that is compiled")
    parser.add_argument("--keep", type=int, default=20, help="differences after which it ends")
    options = parser.parse_args()
    found, refused = 0, {}
    for seed in range(options.first, options.first + options.count):
        program = generate(seed, options.native)
        try:
            if check(program) is None:
                continue
        except NotCompiledError as error:
            refused[str(error)] = refused.get(str(error), 0) + 1
            continue
        print(explain(program), flush=True)
        found += 1
        if found == options.keep:
            break
    for reason, count in sorted(refused.items(), key=lambda item: -item[1]):
        print(f"{count} programs are not compiled: {reason}")
    print(f"{seed - options.first + 1} programs, {found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
