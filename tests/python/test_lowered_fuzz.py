"""Random programs of lowered operators: the interpreted device computes what the CPU computes.

A program is a list of lines over a few tensors of one shape, with dimensions of one element among
them, odd strides and any dtype. Each line is run on both devices; results, and after writes all
tensors, must have the same bits, and errors the same kind. A failure prints the lines.
"""

import random

import lowered_calls
import pytest

import taeda

DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "bool"]
DTYPES = [f"taeda.{name}" for name in [*DTYPES, "complex64", "complex128"]]
NUMBERS = ["2", "0.3", "-1", "True", "1e-3", "3"]

POINTWISE = """
{a} + {b} | {a} * {b} | {a} - {n} | {n} * {a} | {a} / {n} | {a} ** 2 | {n} - {a} | {a} < {b}
{a} == {n} | {a} >= {n} | taeda.maximum({a}, {b}) | taeda.minimum({a}, {b}) | {a}.clamp(-1, 1)
taeda.where({b} != 0, {a}, {b}) | taeda.add({a}, {b}, alpha=3) | taeda.lerp({a}, {b}, 0.3)
taeda.addcmul({a}, {b}, {a}, value=2) | {a}.masked_fill({b} != 0, {n}) | {a}.to({dtype}) | -{a}
{a}.abs() | {a}.exp() | {a}.sigmoid() | {a}.sin() | {a}.floor() | {a}.sign() | {a}.conj() * {b}
{a} & {b} | {a}.logical_not() | {a}.relu() | taeda.atan2({a}, {b}) | {a}.to({dtype}).imag
{a}.isnan() | {a}.clone() | {a} + taeda.tensor({n}, dtype={dtype}) | {a} * taeda.tensor({n})
"""
ROWS = """
{a}.sum({dims}, keepdim=True) | {a}.sum({dims}, dtype={dtype}) | {a}.mean({dims}, keepdim=True)
{a}.amax({dims}, keepdim=True) | {a}.amin({dims}) | {a}.prod({dim}, keepdim=True) | {a}.any({dim})
{a}.all() | {a}.argmax({dim}, keepdim=True) | {a}.argmin() | {a}.max({dim})[0] | {a}.min({dim})[1]
{a}.cumsum({dim}) | {a}.cumprod({dim}, dtype={dtype}) | {a}.softmax({dim}) | {a}.log_softmax({dim})
{a}.count_nonzero() | {a}.max() | {a}.sum()
"""
CLOSE = """
{a}.var({dims}, correction=0, keepdim=True) | {a}.std({dim}) | {a}.logsumexp({dim}, keepdim=True)
taeda.nn.functional.mse_loss({a}, {b}.expand_as({a})) | taeda.var_mean({a}, {dim})[1]
"""
PLACES = """
{a}.gather({dim}, places({a}, {dim}, {seed})) | {a}.index_select({dim}, index({a}, {dim}, {seed}))
{a}.scatter({dim}, places({a}, {dim}, {seed}), {n}) | {a}.flip({dims}) | {a}.roll(1, {dim})
{a}.scatter_add({dim}, places({a}, {dim}, {seed}), {a}) | taeda.cat([{a}, {a}], {dim}) | {a}.tril()
{a}.scatter_reduce({dim}, places({a}, {dim}, {seed}), {a}, {reduce}, include_self={flag})
{a}.index_add({dim}, index({a}, {dim}, {seed}), {a}, alpha=2) | taeda.stack([{a}, {a}], {dim})
{a}.index_fill({dim}, index({a}, {dim}, {seed}), {n}) | {a}.take(index({a}, {dim}, {seed}))
{a}.nonzero() | {a}[{a} != 0] | {a}.repeat([2] * {a}.ndim) | {a}.index_select(0, index({a}, 0, -1))
{a}.contiguous() | {a}.triu(1) | {a}[index({a}, 0, {seed})]
"""
DRAWN = """
drawn({seed}, taeda.empty_like({a}).uniform_()) | drawn({seed}, taeda.empty_like({a}).normal_())
drawn({seed}, taeda.empty_like({a}).random_(0, 100)) | drawn({seed}, {a}.clone().bernoulli_(0.3))
"""
WRITES = """
{a}.add_({b}) | {a}.mul_({n}) | {a}.copy_({b}) | {a}.fill_({n}) | {a}.masked_fill_({b} != 0, {n})
{a}.sub_({b}, alpha=2) | {a}.zero_() | {a}.index_fill_({dim}, index({a}, {dim}, {seed}), {n})
{a}.index_copy_({dim}, index({a}, {dim}, {seed}), {a}.clone()) | {a}.clamp_(0, 1) | {a}.tril_()
{a}.scatter_({dim}, places({a}, {dim}, {seed}), {b}.expand_as({a}).clone()) | {a}.neg_()
{a}.scatter_add_({dim}, places({a}, {dim}, {seed}), {a}.clone()) | part({a}, {dim}).add_({n})
{a}.index_add_({dim}, index({a}, {dim}, {seed}), {a}.clone()) | part({a}, {dim}).copy_({n} + {b})
{a}.index_put_((index({a}, 0, {seed}),), {a}.clone(), accumulate={flag}) | {a}.cumsum_({dim})
part({a}, {dim}).mul_(part({a}, {dim})) | {a}.t_().t_() | {a}.lerp_({b}, 0.3) | {a}.eq_({b})
"""
OUT = """
taeda.add({a}, {b}, out=room({a} + {b}, {dtype})) | taeda.lt({a}, {b}, out=room({a} < {b}, {dtype}))
taeda.sum({a}, {dims}, out=room({a}.sum({dims}), {dtype})) | taeda.exp({a}, out=room({a}, {dtype}))
taeda.cumsum({a}, {dim}, out=room({a}, {dtype})) | taeda.add({a}, {b}, out={a})
taeda.gather({a}, {dim}, places({a}, {dim}, {seed}), out=room(places({a}, {dim}, {seed}), {dtype}))
taeda.mul({a}, {n}, out=part({a}, {dim}).clone()) | taeda.amax({a}, {dims}, out=taeda.zeros(0, device=d))
"""


def lines(text):
    return [line.strip() for row in text.strip().splitlines() for line in row.split(" | ")]


FAMILIES = [lines(text) for text in (POINTWISE, ROWS, PLACES, WRITES, OUT, DRAWN, CLOSE)]
WEIGHTS = [5, 4, 4, 5, 2, 1, 1]
IS_CLOSE = set(lines(CLOSE))


class Machine:
    """One device: the tensors of a program by name, and what lines may call."""

    def __init__(self, device):
        self.tensors = {}
        self.scope = {
            "taeda": taeda,
            "d": device,
            "strided": self.strided,
            "index": self.index,
            "places": self.places,
            "part": part,
            "room": self.room,
            "drawn": lambda _, made: made,
        }
        self.device = device

    def run(self, line, seed):
        """The result, or the kind of error, of an expression."""
        taeda.manual_seed(seed)
        try:
            return eval(line, self.scope, self.tensors)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            return type(error)

    def strided(self, shape, dtype, seed, order, steps, repeated):
        """Whole and half numbers; memory walked in another order, in steps, or not at all."""
        sizes = [1 if r else n * s for n, s, r in zip(shape, steps, repeated)]
        count = 1
        for size in sizes:
            count *= size
        values = integers(seed, -4, 5, [count])
        is_real = dtype.is_floating_point or dtype.is_complex
        values = (values * 0.75 if is_real else values.abs()).to(dtype).to(self.device)
        x = values.reshape([sizes[i] for i in order]).permute(
            [order.index(i) for i in range(len(order))]
        )
        for dim, step in enumerate(steps):
            if not repeated[dim]:
                x = x[(slice(None),) * dim + (slice(None, None, step),)]
        return x.expand(shape)

    def index(self, x, dim, seed):
        return integers(seed, 0, size_of(x, dim), [size_of(x, dim)]).to(self.device)

    def places(self, x, dim, seed):
        return integers(seed, 0, size_of(x, dim), x.shape).to(self.device)

    def room(self, like, dtype):
        """A result that is given: every second element of a larger tensor."""
        x = taeda.zeros([2 * n for n in like.shape], dtype=dtype, device=self.device)
        for dim in range(x.ndim):
            x = x[(slice(None),) * dim + (slice(None, None, 2),)]
        return x


def integers(seed, low, high, shape):
    generator = taeda.Generator().manual_seed(abs(seed))
    return taeda.randint(low, high, list(shape), generator=generator)


def size_of(x, dim):
    return x.shape[dim] if x.ndim else 1


def part(x, dim):
    return x.narrow(dim, 0, (size_of(x, dim) + 1) // 2)


class Program:
    """Makes lines that fit a shape, at random."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ndim = self.random.choice([0, 1, 2, 2, 3, 4])
        self.shape = [self.random.choice([1, 2, 3, 5]) for _ in range(self.ndim)]

    def tensor(self):
        r = self.random
        shape = [n if r.random() < 0.8 else 1 for n in self.shape]
        order = list(range(self.ndim))
        if r.random() < 0.5:
            r.shuffle(order)
        steps = [r.choice([1, 1, 2, 3]) for _ in shape]
        repeated = [r.random() < 0.08 for _ in shape]
        dtype, seed = r.choice(DTYPES), r.randrange(10**6)
        return f"strided({shape}, {dtype}, {seed}, {order}, {steps}, {repeated})"

    def line(self, names):
        r = self.random
        form = r.choice(r.choices(FAMILIES, WEIGHTS)[0])
        last = max(self.ndim, 1)
        dims = r.sample(range(self.ndim), r.randint(0, self.ndim))
        filled = form.format(
            a=r.choice(names),
            b=r.choice(names),
            n=r.choice(NUMBERS),
            dtype=r.choice(DTYPES),
            dim=r.randrange(-last, last),
            dims=dims,
            seed=r.randrange(1000),
            reduce=r.choice(["'sum'", "'prod'", "'mean'", "'amax'", "'amin'"]),
            flag=r.random() < 0.5,
        )
        return filled, form in IS_CLOSE

    def can_keep(self, result, kept):
        """Results in memory of their own: what a write reads in another order is not defined."""
        return (
            isinstance(result, taeda.Tensor)
            and result.ndim == self.ndim
            and all(n in (1, m) for n, m in zip(result.shape, self.shape))
            and address(result) not in {address(x) for x in kept}
        )


def address(x):
    return x.untyped_storage().data_ptr()


def is_same(want, got, is_close):
    if not isinstance(want, taeda.Tensor):
        return type(want) is type(got) and want == got
    if not isinstance(got, taeda.Tensor):
        return False
    if not is_close or not (want.is_floating_point() or want.is_complex()):
        return lowered_calls.has_same_bits(want, got)
    size = 2e-2 if want.dtype in (taeda.float16, taeda.bfloat16) else 1e-4
    return want.dtype == got.dtype and taeda.allclose(
        want, got.cpu(), rtol=size, atol=size, equal_nan=True
    )


def check_program(seed, device, length=12):
    program, text = Program(seed), []
    here, there = Machine("cpu"), Machine(device)
    for number in range(length):
        name = f"v{number}"
        line, is_close = (
            (program.tensor(), False) if number < 3 else program.line(list(here.tensors))
        )
        text.append(f"{name} = {line}")
        want, got = here.run(line, seed), there.run(line, seed)
        shown = "\n".join(text)
        assert is_same(want, got, is_close), f"seed {seed}:\n{shown}\n{want}\nand\n{got}"
        for each in here.tensors:
            one, other = here.tensors[each], there.tensors[each]
            assert is_same(one, other, False), f"seed {seed}:\n{shown}\n{each}: {one}\nand\n{other}"
        if program.can_keep(want, here.tensors.values()) and not is_close:
            here.tensors[name], there.tensors[name] = want, got


@pytest.fixture(scope="module")
def device():
    return lowered_calls.load("interpreted")


PROGRAMS = 12


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_programs_are_the_cpus(part, device):
    for seed in range(part * PROGRAMS, (part + 1) * PROGRAMS):
        check_program(seed, device)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8, 200))
def test_more_programs_are_the_cpus(part, device):
    for seed in range(part * PROGRAMS, (part + 1) * PROGRAMS):
        check_program(seed, device)
