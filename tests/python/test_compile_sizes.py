"""Sizes, strides and numbers made of them that change between calls: one graph more, no further one."""

import collections
import math
import re

import pytest
from taeda._dynamo.testing import CompileCounterWithBackend
from taeda.fx.experimental.symbolic_shapes import ConstraintViolationError

import taeda

SIZES = (5, 7, 9, 12)
attention = taeda.nn.functional.scaled_dot_product_attention


def slices(n):
    return (taeda.randn(4, n)[:, :-1],)


def shifted(n):
    tokens = taeda.randn(4, n)
    return tokens[:, :-1], tokens[:, 1:]


def columns(n):
    return (taeda.randn(n, 8)[:, :6],)


def steps(n):
    return (taeda.randn(n, 2 * n)[::2, 1::2],)


def expanded(n):
    return (taeda.randn(1, n).expand(4, n),)


def rows(n):
    return (taeda.randn(n, 4),)


def squares(n):
    return (taeda.randn(n * n, 4),)


def pictures(n):
    return (taeda.randn(n % 3 + 1, n, n, 2),)


def signals(n):
    return (taeda.randn(1, 2, n),)


def wide_rows(n):
    """The same sizes, further apart."""
    return (taeda.randn(4, n)[:, :3],)


def resampled(x):
    return taeda.nn.functional.interpolate(x, size=x.shape[2] * 2)


class Rows:
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return self.x.shape[0]


def windows(x):
    batch, height, width = x.shape[0], x.shape[1], x.shape[2]
    parts = x.view(batch * height, width, -1)
    return parts.view(int(parts.shape[0] / (height * 2 / 2)), height, width, -1) + 1


PROGRAMS = [
    ("a slice", slices, lambda x: x.sin() + 1),
    ("a text and what follows", shifted, lambda x, y: x.sin() * y),
    ("columns", columns, lambda x: taeda.nn.functional.layer_norm(x, (6,))),
    ("steps", steps, lambda x: x.sin().t().flatten().cumsum(0)),
    ("expanded", expanded, lambda x: x * 2),
    ("strides alone", wide_rows, lambda x: x.exp().sum(1)),
    ("equal sizes", lambda n: (taeda.randn(n, n + (n > 7)),), lambda x: x.cos()),
    ("a truncated product", rows, lambda x: x[: int(x.shape[0] * 0.5)] * 2),
    ("a truncated quotient", pictures, windows),
    ("rounded", rows, lambda x: x[: round(x.shape[0] * 0.6)] * 2),
    ("a power", squares, lambda x: x.reshape(int(x.shape[0] ** 0.5), -1) + 1),
    ("a root", squares, lambda x: x.reshape(int(math.sqrt(x.shape[0])), -1) + 1),
    ("a scale", rows, lambda x: x / math.sqrt(x.shape[0])),
    ("a float", rows, lambda x: x * float(x.shape[0])),
    ("resampled", signals, lambda x: taeda.nn.functional.interpolate(x, scale_factor=1.5)),
    ("resampled to a number", signals, resampled),
    ("attention of three dimensions", signals, lambda x: attention(x, x, x)),
    ("a length", rows, lambda x: x.sum() / len(x) + taeda.arange(len(x))),
    ("a slice by length", rows, lambda x: x[: len(x) // 2] * (2 if len(x) > 3 else 1)),
    ("a length of a class", rows, lambda x: x * len(Rows(x))),
]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(
    ("inputs", "function"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS]
)
def test_two_graphs_for_all_sizes(inputs, function, backend):
    counter = CompileCounterWithBackend(backend)
    compiled = taeda.compile(function, backend=counter)
    for n in SIZES:
        given = inputs(n)
        taeda.testing.assert_close(compiled(*given), function(*given))
    # Sizes of the first call are constants; the picture's batch and its sides change one by one.
    assert counter.frame_count <= (3 if inputs is pictures else 2)


@pytest.mark.parametrize("inputs", [slices, columns, steps, expanded, wide_rows])
def test_gradients_of_inputs_with_gaps(inputs):
    compiled = taeda.compile(lambda x: (x.sin() * x).sum(0))
    for n in SIZES:
        (given,) = inputs(n)
        given.requires_grad_()
        wanted = taeda.autograd.grad((given.sin() * given).sum(), given)[0]
        got = taeda.autograd.grad(compiled(given).sum(), given)[0]
        taeda.testing.assert_close(got, wanted)


def test_a_write_into_an_input_with_gaps():
    compiled = taeda.compile(lambda x: x.mul_(2))
    for n in SIZES:
        whole = taeda.ones(4, n)
        part = whole[:, 1:-1]
        assert compiled(part) is part
        assert part.eq(2).all()
        assert whole[:, 0].eq(1).all()
        assert whole[:, -1].eq(1).all()


NUMBERS = [
    ("a factor", lambda x, n: x * n),
    ("the start of a slice", lambda x, n: x[n : n + 3] * 2),
    ("an index", lambda x, n: x[n] * 2),
    ("a position in a cache", lambda x, n: x.index_fill(0, taeda.tensor([0]), 0.5)[: n + 1].sum(0)),
]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", [n[1] for n in NUMBERS], ids=[n[0] for n in NUMBERS])
def test_numbers_that_begin_at_zero(function, backend):
    counter = CompileCounterWithBackend(backend)
    compiled = taeda.compile(function, backend=counter)
    x = taeda.randn(9, 2)
    for n in range(5):
        taeda.testing.assert_close(compiled(x, n), function(x, n))
    assert counter.frame_count == 2


def test_floats_that_pass_one():
    counter = CompileCounterWithBackend("inductor")
    compiled = taeda.compile(lambda x, f: x * f, backend=counter)
    for f in (0.5, 1.0, 1.5, 0.0, 2.0):
        assert compiled(taeda.ones(2), f).tolist() == [f, f]
    assert counter.frame_count == 2


def test_lengths_that_are_none():
    class Length:
        def __init__(self, given):
            self.given = given

        def __len__(self):
            return self.given

    compiled = taeda.compile(lambda x, given: x + len(Length(given)), backend="eager")
    for given in (3, True):
        assert compiled(taeda.zeros(1), given).item() == int(given)
    for given in (-1, "a", 2**70):
        with pytest.raises((ValueError, TypeError, OverflowError)) as plain:
            len(Length(given))
        with pytest.raises(plain.type, match=re.escape(str(plain.value))):
            compiled(taeda.zeros(1), given)
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        taeda.compile(lambda x: len(x) + x, backend="eager")(taeda.tensor(1.0))


def test_no_root_of_a_negative_number():
    compiled = taeda.compile(lambda x, n: x * math.sqrt(n), backend="eager")
    for n in (4, 9, 16):
        assert compiled(taeda.ones(2), n).tolist() == [math.sqrt(n)] * 2
    with pytest.raises(ValueError, match="math domain error"):
        compiled(taeda.ones(2), -4)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_errors_that_a_program_catches_name_its_sizes(backend):
    def program(x):
        try:
            return x @ taeda.ones(4, 4)
        except RuntimeError as error:
            return str(error), x + 1

    compiled = taeda.compile(program, backend=backend)
    for rows in (2, 3, 5):
        text, result = compiled(taeda.zeros(rows, 3))
        assert text == program(taeda.zeros(rows, 3))[0] and f"({rows}x3 and 4x4)" in text
        assert taeda.equal(result, taeda.ones(rows, 3))


@pytest.mark.parametrize("dynamic", (None, True))
def test_a_sum_of_sizes_is_all_that_backward_sees(dynamic, monkeypatch):
    """The number of edges alone stands in no input of backward, which has nodes and their sum."""
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")

    def with_own_edges(x, edges):
        return (x * 2)[taeda.cat([edges, taeda.arange(x.size(0))])]

    counter = CompileCounterWithBackend("inductor")
    compiled = taeda.compile(with_own_edges, backend=counter, dynamic=dynamic)
    for nodes, edges in ((9, 20), (7, 11), (12, 5)):
        x = taeda.randn(nodes, 5, requires_grad=True)
        index = taeda.randint(0, nodes, (edges,))
        results = [f(x, index) for f in (compiled, with_own_edges)]
        taeda.testing.assert_close(*results, rtol=0, atol=0)
        found, wanted = (taeda.autograd.grad(r.square().sum(), x)[0] for r in results)
        taeda.testing.assert_close(found, wanted)
    assert counter.frame_count == (1 if dynamic else 2)


def next_word(scores, words):
    rest = words[:, 1:].reshape(-1)
    return taeda.nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 8), rest)


def padded_words(scores, words):
    rest = taeda.nn.functional.pad(words, (0, 1), value=-100)[..., 1:].contiguous().view(-1)
    return taeda.nn.functional.cross_entropy(scores.view(-1, 8), rest, ignore_index=-100)


def joined(scores, words):
    """Neither of the two sizes is told by the tensor that the backward takes."""
    both = taeda.cat([scores.flatten(), words.flatten().to(scores.dtype)])
    return (both.sin() * both.cos()).sum()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("loss", [next_word, padded_words, joined])
def test_backward_sees_products_of_sizes(loss, dynamic, monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    counter = CompileCounterWithBackend("inductor")
    compiled = taeda.compile(loss, backend=counter, dynamic=dynamic)
    for batch, length in ((2, 5), (3, 6), (4, 7), (2, 9)):
        scores = taeda.randn(batch, length, 8)
        words = taeda.randint(0, 8, (batch, length))
        grads = []
        for call in (loss, compiled):
            leaf = scores.clone().requires_grad_()
            call(leaf, words).backward()
            grads.append(leaf.grad)
        taeda.testing.assert_close(*grads)
    assert counter.frame_count == (1 if dynamic else 2)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_size_outside_of_its_mark_is_an_error(fullgraph):
    compiled = taeda.compile(lambda x: x * 2, backend="eager", fullgraph=fullgraph)
    x = taeda.ones(20)
    taeda._dynamo.mark_dynamic(x, 0, min=2, max=8)
    for _ in range(2):
        with pytest.raises(ConstraintViolationError, match=r"20 not in range \[2, 8\]"):
            compiled(x)
    assert compiled(taeda.ones(3)).tolist() == [2, 2, 2]


MARKS = {
    "dynamic": taeda._dynamo.mark_dynamic,
    "maybe dynamic": taeda._dynamo.maybe_mark_dynamic,
    "static": taeda._dynamo.mark_static,
    "unbacked": taeda._dynamo.mark_unbacked,
}


def marked(size, mark, **limits):
    x = taeda.randn(size, 2)
    mark(x, 0, **limits)
    return x


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_tensor_asks_for_a_region_of_its_own(mark):
    counter = CompileCounterWithBackend("eager")
    compiled = taeda.compile(lambda x: x + 1, backend=counter)
    compiled(taeda.ones(6, 2))
    for _ in range(2):
        compiled(marked(6, MARKS[mark]))
        assert counter.frame_count == 2
    compiled(taeda.ones(6, 2))  # one without marks fits the graphs of those with marks
    assert counter.frame_count == 2


def test_buffers_that_are_marked_later_are_seen():
    model = taeda.nn.Module()
    model.register_buffer("state", taeda.ones(6))
    counter = CompileCounterWithBackend("eager")
    compiled = taeda.compile(lambda x: x + model.state, backend=counter)
    for _ in range(3):
        compiled(taeda.ones(6))
    taeda._dynamo.mark_dynamic(model.state, 0)
    with pytest.raises(ConstraintViolationError):  # the argument has one size
        compiled(taeda.ones(6))


def test_limits_of_a_mark_are_those_of_a_graph_for_one_size_too():
    compiled = taeda.compile(lambda x: x + 1, backend="eager")
    compiled(taeda.ones(6, 2))
    with pytest.raises(ConstraintViolationError, match=r"6 not in range \[2, 4\]"):
        compiled(marked(6, taeda._dynamo.mark_dynamic, min=2, max=4))
    with pytest.raises(ConstraintViolationError, match=r"6 not in range \[2, 4\]"):
        compiled(marked(6, taeda._dynamo.mark_unbacked, min=2, max=4))


def test_marks_hold_where_no_other_size_is_a_symbol():
    counter = CompileCounterWithBackend("eager")
    compiled = taeda.compile(lambda x: x + 1, backend=counter, dynamic=False)
    for size in SIZES:
        compiled(marked(size, taeda._dynamo.mark_dynamic))
    assert counter.frame_count == 1


UNBACKED = {
    "elements": lambda x: (x + 1).relu(),
    "product": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(0),
    "softmax": lambda x: taeda.softmax(x, 0),
    "flat": lambda x: x.reshape(-1),
    "filled": lambda x: taeda.ones(x.shape[0], 2) * x,
    "size": lambda x: (x * x.shape[0], x.shape[0]),
    "slices": lambda x: (x[1:].sum() + x[:-1].sum(), x[2:]),
}


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", UNBACKED)
def test_one_graph_for_all_sizes_of_an_unbacked_dimension(function, backend, fullgraph):
    counter = CompileCounterWithBackend(backend)
    compiled = taeda.compile(UNBACKED[function], backend=counter, fullgraph=fullgraph)
    for size in (6, 3, 1, 0):
        x = marked(size, taeda._dynamo.mark_unbacked)
        taeda.testing.assert_close(compiled(x), UNBACKED[function](x))
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_unbacked_sizes_of_two_inputs(backend):
    compiled = taeda.compile(lambda x, y: x + y, backend=backend, fullgraph=True)
    for sizes in ((6, 6), (6, 1), (1, 6), (1, 1), (0, 0)):
        x, y = (marked(size, taeda._dynamo.mark_unbacked) for size in sizes)
        taeda.testing.assert_close(compiled(x, y), x + y)


def test_strides_of_unbacked_sizes_are_guarded():
    counter = CompileCounterWithBackend("inductor")
    compiled = taeda.compile(lambda x: x * 2 + x.sum(0), backend=counter)
    for size in (3, 5, 1):
        x = taeda.randn(2, size)
        taeda._dynamo.mark_unbacked(x, 1)
        taeda.testing.assert_close(compiled(x), x * 2 + x.sum(0))
    assert counter.frame_count == 1
    x = taeda.randn(5, 2).t()
    taeda._dynamo.mark_unbacked(x, 1)
    taeda.testing.assert_close(compiled(x), x * 2 + x.sum(0))
    assert counter.frame_count == 2


def test_a_branch_on_an_unbacked_size_is_a_break():
    def branching(x):
        y = x + 1
        return y * 2 if y.shape[0] > 4 else y

    for size in (3, 8):
        x = marked(size, taeda._dynamo.mark_unbacked)
        assert taeda.equal(taeda.compile(branching, backend="eager")(x), branching(x))
    with pytest.raises(taeda._dynamo.exc.Unsupported, match="only data tells"):
        taeda.compile(branching, backend="eager", fullgraph=True)(x)

    def checked(x):
        taeda._check(x.shape[0] > 4, lambda: "too few")
        return branching(x)

    compiled = taeda.compile(checked, backend="eager", fullgraph=True)
    assert taeda.equal(compiled(x), branching(x))
    with pytest.raises(RuntimeError, match="too few"):
        compiled(marked(3, taeda._dynamo.mark_unbacked))


def test_an_order_of_dimensions_of_unbacked_sizes():
    @taeda.compile(backend="eager", fullgraph=True)
    def permuted(x):
        return x.permute(3, 0, 2, 1).dim_order()

    x = taeda.randn(4, 1, 5, 2)
    taeda._dynamo.mark_unbacked(x, [1, 3])
    assert permuted(x) == (1, 3, 2, 0)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_planes_of_an_unbacked_size(fullgraph):
    weight = taeda.randn(2, 1, 3, 3)
    counter = CompileCounterWithBackend("inductor")

    @taeda.compile(backend=counter, fullgraph=fullgraph)
    def convolved(x):
        return taeda.nn.functional.conv2d(x, weight)

    for size in (5, 3, 9):
        x = taeda.randn(2, 1, size, 4)
        taeda._dynamo.mark_unbacked(x, 2)
        expected = taeda.nn.functional.conv2d(x, weight)
        taeda.testing.assert_close(convolved(x), expected)
    assert counter.frame_count == 1
    x = taeda.randn(2, 1, 2, 4)
    taeda._dynamo.mark_unbacked(x, 2)
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        convolved(x)


@pytest.mark.parametrize(
    ("shapes", "graphs"),
    [
        ([(3,), (4, 5), (6, 7), (8, 9)], 2),
        ([(3,), (4, 5), (5,), (6, 7), (7,), (8, 9), (9,)], 3),
        ([(2, 3, 4), (3, 4), (2, 3, 5), (3, 5), (2, 6, 5), (8, 5)], 3),
        ([(), (4,), (5,), ()], 2),
    ],
)
def test_sizes_of_another_rank_are_symbols(shapes, graphs):
    taeda._dynamo.reset()
    counter = CompileCounterWithBackend("eager")
    compiled = taeda.compile(lambda x: x * 2 + x.numel(), backend=counter)
    for shape in shapes:
        x = taeda.ones(shape)
        assert taeda.equal(compiled(x), x * 2 + x.numel())
    assert counter.frame_count == graphs


def test_a_number_that_is_of_another_kind_changes():
    taeda._dynamo.reset()
    counter = CompileCounterWithBackend("eager")
    compiled = taeda.compile(lambda x, n: x * n, backend=counter)
    for n in (2, 3.0, 4, 5.0, 6):
        assert taeda.equal(compiled(taeda.ones(3), n), taeda.ones(3) * n)
    assert counter.frame_count == 3


Extent = collections.namedtuple("Extent", "rows name")


class Corner(tuple):
    """A class of tuples whose objects may have attributes."""


@pytest.mark.parametrize(
    "key",
    [
        lambda x: x.shape,
        lambda x: (x.shape, x.dtype),
        lambda x: Extent(x.shape[0], "a"),
        lambda x: Corner(x.shape),
    ],
)
def test_sizes_in_tuples_of_a_class_are_keys(key):
    """What is remembered for sizes is found, and its key is an object of the class."""

    def program(x, kept):
        name = key(x)
        if name not in kept:
            kept[name] = x.sum()
        return x + kept[name]

    taeda._dynamo.utils.counters.clear()
    compiled = taeda.compile(program, backend="eager")
    found, wanted = {}, {}
    for n in (2, 3, 2, 4, 3):
        x = taeda.ones(n, 2)
        assert compiled(x, found).equal(program(x, wanted))
    assert found == wanted
    assert [type(name) for name in found] == [type(name) for name in wanted]
    assert not taeda._dynamo.utils.counters["given_up"]
