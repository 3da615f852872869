"""Marks on dimensions: symbols, constants, and errors where a program breaks them."""

import pytest
from taeda._dynamo import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from taeda._subclasses.fake_tensor import FakeTensorMode
from taeda.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    optimization_hint,
)

import taeda


def fake(t, **settings):
    env = ShapeEnv(**settings)
    return FakeTensorMode(shape_env=env).from_tensor(t, source="x"), env


def test_equal_sizes_share_a_symbol_unless_marked():
    plain, _ = fake(taeda.ones(4, 4))
    assert plain.shape[0].node.expr == plain.shape[1].node.expr
    t = taeda.ones(4, 4)
    mark_dynamic(t, 0)
    marked, _ = fake(t)
    assert str(marked.shape[0]) != str(marked.shape[1])


def test_static_dimensions_are_constants():
    t = taeda.ones(4, 5, 6)
    mark_static(t, [0, -1])
    x, _ = fake(t)
    assert (type(x.shape[0]), type(x.shape[2])) == (int, int)
    assert not isinstance(x.shape[1], int)


def test_marked_ones_are_dynamic_where_all_else_is_static():
    t = taeda.ones(4, 5)
    mark_dynamic(t, 1)
    x, _ = fake(t, assume_static_by_default=True)
    assert isinstance(x.shape[0], int)
    assert not isinstance(x.shape[1], int)


def test_a_program_that_fixes_a_marked_dimension_is_an_error():
    t = taeda.ones(4, 5)
    mark_dynamic(t, 0)
    x, env = fake(t)
    assert int(x.shape[0]) == 4
    with pytest.raises(ConstraintViolationError, match=r"x\.size\(\)\[0\]"):
        env.produce_guards([x], ["x"])


def test_maybe_dynamic_may_be_fixed():
    t = taeda.ones(4, 5)
    maybe_mark_dynamic(t, 0)
    x, env = fake(t)
    assert int(x.shape[0]) == 4
    env.produce_guards([x], ["x"])


def test_a_range_that_the_guards_cut():
    t = taeda.ones(4, 5)
    mark_dynamic(t, 0, min=2, max=64)
    x, env = fake(t)
    assert x.shape[0] < 10
    with pytest.raises(ConstraintViolationError, match=r"x\.size\(\)\[0\]"):
        env.produce_guards([x], ["x"])


def test_unbacked_dimensions_answer_no_question():
    t = taeda.ones(4)
    mark_unbacked(t, 0)
    x, _ = fake(t)
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(x.shape[0] > 7)


def test_marks_that_make_no_sense():
    with pytest.raises(IndexError, match="Dimension out of range"):
        mark_dynamic(taeda.ones(2), 1)
    with pytest.raises(ValueError, match="min 5 is above max 4"):
        mark_dynamic(taeda.ones(2), 0, min=5, max=4)


def test_marks_are_attributes_of_the_tensor():
    x = taeda.ones(4, 5, 6)
    mark_dynamic(x, [0, 1])
    mark_static(x, -1)
    assert x._dynamo_dynamic_indices == {0, 1} and x._dynamo_static_indices == {2}


def test_an_unbacked_dimension_may_have_bounds():
    x = taeda.ones(4, 2)
    mark_unbacked(x, 0, min=2, max=8)
    env = ShapeEnv()
    fake = FakeTensorMode(shape_env=env).from_tensor(x)
    assert str(env.var_to_range[fake.shape[0].node.expr]) == "VR[2, 8]"
    with pytest.raises(ValueError, match="min 9 is above max 8"):
        mark_unbacked(x, 0, min=9, max=8)


def test_guesses_for_sizes_that_only_data_tells():
    t = taeda.ones(4, 5)
    mark_unbacked(t, 0, hint_override=64)
    x, env = fake(t)
    assert optimization_hint(x.shape[0] * 2) == 128
    assert {str(s): n for s, n in env.var_to_hint_override.items()} == {"u0": 64}


def test_static_dimensions_of_a_compiled_program():
    sizes = []

    def keep(gm, example_inputs):
        sizes.append(example_inputs[0].shape)
        return gm.forward

    @taeda.compile(backend=keep, fullgraph=True, dynamic=True)
    def program(x):
        mark_static(x, 1)
        y = x + 1
        mark_static(y[0])
        return y * 2

    for n in (3, 4, 5):
        assert taeda.equal(program(taeda.ones(n, 6)), taeda.full((n, 6), 4.0))
    assert len(sizes) == 1 and [type(n) for n in sizes[0]] == [taeda.SymInt, int]
