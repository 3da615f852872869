"""Programs that change the memory of a tensor, or whose sizes data tells, traced ahead of time."""

import pytest
from taeda.fx.aot import aot_function, make_boxed_func
from taeda.fx.fake.tensors import DataDependentOutputException

import taeda as t


def kernels(gm, inputs):
    return make_boxed_func(t._inductor.compile(gm, inputs, native="never"))


def smaller(x):
    return x.clone().resize_(2, 2) * 2


def other_view_is_written(x):
    y = x.clone()
    row = y[1]
    y.resize_(2, 2)
    y.add_(1)
    row.mul_(2)
    return y + row[:2]


def of_an_input(x):
    return x.resize_(2, 2) + 1


def written_input(x):
    x.resize_(2, 3)
    x.mul_(3)
    return x.sum()


def of_a_view(x):
    y = x.clone()[1:]
    y.resize_(2, 3)
    y.sub_(1)
    return y


def larger(x):
    y = x.clone().resize_(5, 5)
    return y.flatten()[:12] * 2


def larger_and_written(x):
    y = x.clone().resize_(5, 5)
    y.fill_(2)
    y[1].mul_(3)
    return y


def as_another(x):
    y = x.t().clone(memory_format=t.preserve_format)
    return y.resize_as_(x)


def the_same(x):
    return x.clone().resize_(3, 4).sin()


PROGRAMS = [
    smaller,
    other_view_is_written,
    of_an_input,
    written_input,
    of_a_view,
    larger,
    larger_and_written,
    as_another,
    the_same,
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_resized_tensors(program, dynamic):
    compiled = aot_function(program, kernels, dynamic=dynamic)
    for _ in range(2):
        x = t.randn(3, 4)
        own, theirs = x.clone(), x.clone()
        got, want = compiled(own), program(theirs)
        assert t.equal(got, want) and got.stride() == want.stride()
        assert t.equal(own, theirs) and own.stride() == theirs.stride()


def test_memory_that_is_looked_at_does_not_grow():
    def f(x):
        y = x.clone()
        flat = y.view(-1)
        y.resize_(5, 5)
        return flat

    with pytest.raises(RuntimeError, match="Attempted to resize a view tensor to a larger size"):
        aot_function(f, kernels)(t.ones(3, 4))
    with pytest.raises(NotImplementedError, match="input 0 gets the memory of another tensor"):
        aot_function(lambda x: x.resize_(9) * 1, kernels)(t.ones(3))


def test_a_tensor_with_gradients_is_not_resized():
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        aot_function(lambda x: (x * 2).resize_(2), kernels)(t.ones(3, requires_grad=True))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("count", [0, 3, 40])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, out: t.add(x, 1, out=out),
        lambda x, out: t.mm(x.t(), x, out=out),
        lambda x, out: t.sum(x, 0, out=out),
    ],
    ids=["add", "mm", "sum"],
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_result_of_other_sizes(function, count, dynamic):
    def program(x):
        out = t.empty(count)
        result = function(x.detach(), out)
        result.add_(1)
        return out * x.sum(), out

    outcomes = []
    for run in (program, aot_function(program, kernels, dynamic=dynamic)):
        x = t.arange(12.0).reshape(4, 3).requires_grad_()
        results = run(x)
        results[0].sum().backward()
        outcomes.append((*(one.detach() for one in results), x.grad))
    t.testing.assert_close(outcomes[1], outcomes[0])
    assert [one.stride() for one in outcomes[1]] == [one.stride() for one in outcomes[0]]


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_many_classes_as_data_tells(dynamic):
    def f(x):
        return t.nn.functional.one_hot(x) * 2.5 + 1

    compiled = aot_function(f, kernels, dynamic=dynamic)
    for x in (t.tensor([0, 3, 1]), t.tensor([5, 0, 0]), t.tensor([0, 0, 0])):
        assert t.equal(compiled(x), f(x))
    with pytest.raises(RuntimeError, match="Class values must be non-negative"):
        compiled(t.tensor([0, -1, 2]))
    with pytest.raises(RuntimeError, match="Can not infer total number of classes from empty"):
        aot_function(f, kernels)(t.zeros(0, dtype=t.int64))


def test_classes_of_a_decomposed_program():
    class Classes(t.nn.Module):
        def forward(self, x):
            return t.nn.functional.one_hot(x)

    program = t.export.export(Classes(), (t.tensor([0, 2]),)).run_decompositions()
    for x in (t.tensor([0, 2]), t.tensor([4, 4])):
        assert t.equal(program.module()(x), t.nn.functional.one_hot(x))


@pytest.mark.parametrize("name", ["equal", "allclose"])
def test_a_truth_value_of_data_cannot_be_traced(name):
    with pytest.raises(DataDependentOutputException, match=f"aten.{name}.default"):
        aot_function(lambda x: getattr(t, name)(x, x + 1), kernels)(t.ones(3))
