"""Operators that replace some elements of an input do so in its memory."""

import pytest
from taeda._inductor import compile
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


def plans(f, inputs, **options):
    """The compiled function, and names of the steps of its plan."""
    made = []

    def compiler(gm, args):
        made.append(compile(gm, args, **({"native": "never"} | options)))
        return made[-1]

    run = aot_function(f, fw_compiler=compiler)
    with t.no_grad():
        run(*[x.clone() for x in inputs])
    return run, [step["name"] for plan in made[0].report() for step in plan["steps"]]


def put(cache, rows, at):
    cache[:, at] = rows
    return rows + 1


def copy(cache, rows, at):
    cache.index_copy_(1, at, rows)


def place(cache, rows, at):
    cache.scatter_(1, at[None, :, None].expand_as(rows), rows)


def fill(cache, rows, at):
    cache.scatter_(1, at[None, :, None].expand_as(rows), 2.5)


def attend(cache, rows, at):
    cache[:, at] = rows
    return F.scaled_dot_product_attention(rows, cache, cache.sin())


def twice(cache, rows, at):
    cache[:, at] = rows
    y = cache.mean(1)
    return y, cache.cos()


WRITERS = {f.__name__: f for f in (put, copy, place, fill, attend, twice)}


def tensors(length=6):
    return [t.randn(2, length, 4), t.randn(2, 2, 4), t.tensor([4, 1])]


def compare(run, f, inputs):
    mine, own = [x.clone() for x in inputs], [x.clone() for x in inputs]
    before = mine[0]._version
    with t.no_grad():
        got, want = run(*mine), f(*own)
    t.testing.assert_close(got, want)
    assert all(map(t.equal, mine, own))
    assert mine[0]._version > before


@pytest.mark.parametrize("name", WRITERS)
def test_elements_are_replaced_where_they_lie(name):
    f, inputs = WRITERS[name], tensors()
    run, steps = plans(f, inputs)
    assert sum(step.startswith(("index", "scatter")) for step in steps) == 1
    # Nothing copies the cache.
    assert steps.count("kernel0") == (name in ("put", "attend", "twice"))
    compare(run, f, inputs)
    at = inputs[0].data_ptr()
    with t.no_grad():
        run(*inputs)
    assert inputs[0].data_ptr() == at


def test_lengths_that_change():
    symbolic = t.compile(put, dynamic=True)
    for length in (6, 9, 5):
        compare(symbolic, put, tensors(length))


def read_before(cache, rows, at):
    y = cache * 2
    cache[:, at] = rows
    return y


def read_by_rows(cache, rows, at):
    cache[:, at] = rows + cache[:, :2]


def returned(cache, rows, at):
    cache[:, at] = rows
    return cache


def changed(cache, rows, at):
    cache[:, at] = rows
    cache.mul_(2)


def other_elements(cache, rows, at):
    cache[:, at] = rows
    cache[:, at - 1] = rows * 2


@pytest.mark.parametrize("f", [read_before, read_by_rows, returned, changed, other_elements])
def test_inputs_that_something_else_needs(f):
    inputs = tensors()
    run, _ = plans(f, inputs)
    compare(run, f, inputs)


def test_an_index_out_of_range_writes_nothing():
    inputs = tensors()
    run, _ = plans(put, inputs)
    before = inputs[0].clone()
    with pytest.raises(IndexError), t.no_grad():
        run(*inputs[:2], t.tensor([1, 6]))
    assert t.equal(inputs[0], before)


def test_a_run_that_fails_later_brings_elements_back():
    def f(cache, rows, at, table, row):
        cache[:, at] = rows
        return table[row] * 2 + cache.sum()

    inputs = [*tensors(), t.randn(5, 3), t.tensor([4, 0])]
    run, steps = plans(f, inputs)
    compare(run, f, inputs)
    before = inputs[0].clone()
    with pytest.raises(IndexError), t.no_grad():
        run(*inputs[:4], t.tensor([5, 0]))
    assert t.equal(inputs[0], before)


def test_a_call_that_raises_later_brings_elements_back():
    def f(cache, rows, at, matrix):
        cache[:, at] = rows
        return t.linalg.cholesky(matrix) + cache.sum()

    inputs = [*tensors(), t.eye(3)]
    run, _ = plans(f, inputs)
    compare(run, f, inputs)
    before = inputs[0].clone()
    with pytest.raises(t.linalg.LinAlgError), t.no_grad():
        run(*inputs[:3], -t.eye(3))
    assert t.equal(inputs[0], before)


def test_places_that_are_named_twice():
    inputs = [t.randn(2, 6, 4), t.randn(2, 1, 4).expand(2, 2, 4), t.tensor([3, 3])]
    run, _ = plans(put, inputs)
    compare(run, put, inputs)


def test_a_mask_names_the_elements():
    def f(cache, mask, number):
        cache[mask] = number

    inputs = [t.randn(4, 5), t.rand(4, 5) > 0.5, t.tensor(3.0)]
    run, _ = plans(f, inputs)
    compare(run, f, inputs)


def test_a_decoder_writes_to_its_cache():
    class Layer(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = t.nn.Linear(8, 24)
            self.register_buffer("keys", t.zeros(2, 16, 8))
            self.register_buffer("values", t.zeros(2, 16, 8))

        def forward(self, x, at):
            q, k, v = self.project(x).chunk(3, -1)
            self.keys[:, at] = k
            self.values.index_copy_(1, at, v)
            seen = t.arange(16) <= at
            return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)

    plain, layer = Layer(), Layer()
    layer.load_state_dict(plain.state_dict())
    compiled = t.compile(layer, fullgraph=True)
    with t.no_grad():
        for at in range(16):
            x = t.randn(2, 1, 8)
            t.testing.assert_close(compiled(x, t.tensor([at])), plain(x, t.tensor([at])))
    t.testing.assert_close(layer.state_dict(), plain.state_dict())


def test_a_graph_that_is_given():
    gm = make_fx(put)(*tensors())
    compiled = compile(gm, tensors(), native="never")
    inputs = tensors()
    own = [x.clone() for x in inputs]
    assert t.equal(compiled(*inputs), put(*own)) and t.equal(inputs[0], own[0])
