"""Guesses for numbers that only data tells, and sizes of inputs that are treated as such numbers."""

import pytest
from taeda._dynamo import override_optimization_hint
from taeda._subclasses.fake_tensor import FakeTensorMode
from taeda.fx.experimental import _config
from taeda.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    ShapeEnvSettings,
    guard_or_false,
    optimization_hint,
)

import taeda


@pytest.fixture
def env():
    return ShapeEnv()


def test_guesses_for_numbers_from_data(env):
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    assert [optimization_hint(n) for n in (u, u * 2, u // 2, 3)] == [8192, 16384, 4096, 3]
    assert optimization_hint(u + v, fallback=5) == 10
    override_optimization_hint(u, 10)
    assert optimization_hint(u + v, fallback=5) == 15
    assert {str(k): n for k, n in env.var_to_hint_override.items()} == {"u0": 10}


def test_guesses_stay_in_range(env):
    u = env.create_unbacked_symint()
    taeda._check(u <= 20)
    assert optimization_hint(u) == 20


def test_hints_are_better_than_guesses(env):
    x = FakeTensorMode(shape_env=env).from_tensor(taeda.ones(6))
    assert optimization_hint(x.shape[0] * 2, fallback=3) == 12


def test_what_has_no_guess_of_its_own(env):
    override_optimization_hint(3, 4)
    backed = FakeTensorMode(shape_env=env).from_tensor(taeda.ones(6)).shape[0]
    u = env.create_unbacked_symint()
    for number, value, error in [
        (u * 2, 4, ValueError),
        (backed, 4, ValueError),
        (u, 1.5, TypeError),
        ("u0", 4, TypeError),
    ]:
        with pytest.raises(error, match="override_optimization_hint expects"):
            override_optimization_hint(number, value)


def chunks(env, hint):
    """A tensor of which data tells whether it lies in one run, and its size."""
    u = env.create_unbacked_symint()
    override_optimization_hint(u, hint)
    with FakeTensorMode(shape_env=env):
        whole = taeda.empty(4, u, 256)
        return whole.as_strided((4, 2 * (u // 2), 256), (256 * u, 256, 1)), 2 * (u // 2)


def test_a_view_relies_on_guesses_and_says_so(env):
    x, size = chunks(env, 16)
    assert not x.is_contiguous()
    viewed = x.view(4 * size, 256)
    assert str(viewed.shape) == "torch.Size([8*(u0//2), 256])" and viewed.stride() == (256, 1)
    asserts = [str(a.expr) for each in env.deferred_runtime_asserts.values() for a in each]
    assert any("u0//2" in text and "Eq" in text for text in asserts)


def test_a_view_that_needs_no_guess_states_nothing(env):
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    with FakeTensorMode(shape_env=env):
        padded = taeda.empty(4, u, 256).as_strided((4, v, 256), (256 * u, 256, 1))
        viewed = padded.view(4, v * 256)
    assert str(viewed.stride()) == "(256*u0, 1)"
    stated = [str(a.expr) for each in env.deferred_runtime_asserts.values() for a in each]
    assert not any("u0" in text and "u1" in text for text in stated)


def test_reshape_copies_where_only_data_tells(env):
    x, size = chunks(env, 16)
    copied = x.reshape(4 * size, 256)
    assert not copied._is_view() and copied.is_contiguous()


def test_guesses_that_speak_against_a_view(env):
    x, size = chunks(env, 15)
    with pytest.raises(GuardOnDataDependentSymNode):
        x.view(4 * size, 256)
    asserts = [str(a.expr) for each in env.deferred_runtime_asserts.values() for a in each]
    assert not any("u0//2" in text and "Eq" in text for text in asserts)


def oblivious(*sizes):
    with _config.patch(backed_size_oblivious=True):
        env = ShapeEnv(duck_shape=False)
    return env, FakeTensorMode(shape_env=env).from_tensor(taeda.ones(*sizes))


def test_sizes_of_inputs_are_asked_for_no_values():
    env, x = oblivious(1, 3)
    assert [str(s) for s in x.shape] == ["s0", "s1"]
    assert guard_or_false(x.shape[1] == 3) is False and env.guards == []
    plain = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(taeda.ones(1, 3))
    assert plain.shape[0] == 1 and guard_or_false(plain.shape[1] == 3) is True


def test_shape_rules_take_such_sizes_for_neither_zero_nor_one():
    env, x = oblivious(1, 3)
    assert str((x + taeda.ops.aten.ones_like(x)).shape) == str(x.shape)
    assert not [g for g in env.guards if "1" in str(g.expr).replace("s1", "")]


def test_settings_of_an_environment():
    made = ShapeEnv(duck_shape=False, assume_static_by_default=True).settings
    assert made == ShapeEnvSettings(True, True, True, True, False)
