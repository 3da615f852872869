"""Tensors without dimensions where operators count along one: kernels with eager's bits and errors."""

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

ONE, ROW = t.tensor(1.5), t.tensor([1.5, -2.0, 4.0])
ZERO, ZEROS = t.tensor(0), t.tensor([0])

# Programs and their inputs.
PROGRAMS = {
    "gather_scalars": (lambda x, i: t.gather(x * 2, 0, i), [ONE, ZERO]),
    "gather_into_row": (lambda x, i: t.gather(x, -1, i) + 1, [ONE, ZEROS]),
    "gather_by_scalar": (lambda x, i: t.gather(x, 0, i), [ROW, t.tensor(2)]),
    "gather_masks": (lambda x, i: t.gather(x > 0, 0, i), [ONE, ZEROS]),
    "scatter_add_scalars": (lambda x, i: t.scatter_add(x, 0, i, x * 3), [ONE, ZERO]),
    "scatter_add_row": (lambda x, i: t.scatter_add(x, 0, i, x.view(1)), [ONE, ZEROS]),
    "scatter_add_by_scalar": (lambda x, i: t.scatter_add(x, 0, i, x[0]), [ROW, t.tensor(2)]),
    "index_select_of_scalar": (lambda x, i: t.index_select(x, 0, i) - 1, [ONE, ZEROS]),
    "index_select_by_scalar": (lambda x, i: t.index_select(x, 0, i), [ROW, t.tensor(1)]),
    "index_add_scalars": (lambda x, i: t.index_add(x, 0, i, x, alpha=2), [ONE, ZEROS]),
    "index_add_by_scalar": (lambda x, i: t.index_add(x, 0, i, x[:1]), [ROW, t.tensor(1)]),
    "cumsum": (lambda x: x.cumsum(0), [ONE]),
    "cumsum_of_other_dtype": (lambda x: x.cumsum(0, dtype=t.float64), [t.tensor(7)]),
    "cumprod": (lambda x: x.cumprod(-1), [ONE]),
    "cummax": (lambda x: x.cummax(0), [ONE]),
    "cummin": (lambda x: (x * 2).cummin(0), [ONE]),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), [ONE]),
    "unfold": (lambda x: x.sin().unfold(0, 1, 1) + 1, [ONE]),
    "gradient": (lambda x: t.gradient(x, spacing=2.0), [ROW]),
}


def compiled(f, inputs, native):
    return compile(make_fx(f)(*inputs), inputs, native=native)


@pytest.mark.parametrize("native", ["never", "wait"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_with_eagers_bits(name, native):
    f, inputs = PROGRAMS[name]
    made = compiled(f, inputs, native)
    want, got = f(*inputs), made(*inputs)
    if isinstance(want, t.Tensor):
        want, got = [want], [got]
    for one, other in zip(want, got, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and t.equal(one, other)
    assert [call for plan in made.report() for call in plan["called"]] == []


@pytest.mark.parametrize("native", ["never", "wait"])
@pytest.mark.parametrize("name", ["gather", "scatter_add", "index_select", "index_add"])
def test_an_index_that_a_scalar_does_not_have(name, native):
    programs = {
        "gather": lambda x, i: t.gather(x, 0, i),
        "scatter_add": lambda x, i: t.scatter_add(x, 0, i, x.view(1)),
        "index_select": lambda x, i: t.index_select(x, 0, i),
        "index_add": lambda x, i: t.index_add(x, 0, i, x),
    }
    made = compiled(programs[name], [ONE, ZEROS], native)
    wrong = t.tensor([1])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        programs[name](ONE, wrong)
    with pytest.raises(eager.type) as refused:
        made(ONE, wrong)
    assert str(refused.value) == str(eager.value)


@pytest.mark.parametrize("sizes", [(2, 0), (0, 3, 1)])
def test_an_index_without_elements_may_have_other_dimensions(sizes):
    index = t.empty(sizes, dtype=t.int64)
    source = t.empty(sizes)

    def gathered(x, i):
        return t.gather(x, 0, i) + 1

    def added(x, i, s):
        return t.scatter_add(x * 2, 0, i, s)

    assert compiled(gathered, [ROW, index], "never")(ROW, index).shape == sizes
    made = compiled(added, [ROW, index, source], "never")
    assert t.equal(made(ROW, index, source), added(ROW, index, source))
