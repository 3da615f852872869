"""Tests of GradScaler: scaling, skipped steps, growth and backoff, state, errors."""

import copy
import pickle
import warnings

import pytest
from under_test import t

INF = float("inf")


class SGD:
    """The smallest optimizer a scaler works with."""

    def __init__(self, params, lr=1.0):
        self.param_groups = [{"params": list(params), "lr": lr}]
        self.steps = 0

    def step(self, closure=None):
        self.steps += 1
        with t.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        param -= group["lr"] * param.grad
        return "stepped"


def scaler(**settings):
    return t.amp.GradScaler("cpu", **{"init_scale": 4.0, **settings})


def problem(values=(1.0, 2.0)):
    weight = t.tensor(values, requires_grad=True)
    return weight, SGD([weight])


def run(scaler, weight, optimizer, factor=1.0):
    """One iteration whose gradient is `factor`."""
    weight.grad = None
    scaler.scale((weight * factor).sum()).backward()
    result = scaler.step(optimizer)
    scaler.update()
    return result


def test_scale_multiplies_tensors_and_their_containers():
    s = scaler()
    assert s.scale(t.tensor(3.0)).item() == 12.0
    pair = s.scale([t.tensor(1.0), (t.tensor(2.0), t.tensor([3.0]))])
    assert pair[0].item() == 4.0 and pair[1][0].item() == 8.0 and pair[1][1].tolist() == [12.0]
    assert isinstance(pair, list) and isinstance(pair[1], tuple)
    assert [x.item() for x in s.scale(x for x in (t.tensor(1.0),))] == [4.0]


def test_a_step_sees_unscaled_gradients():
    weight, optimizer = problem()
    s = scaler()
    assert run(s, weight, optimizer, 0.5) == "stepped"
    assert weight.tolist() == [0.5, 1.5] and weight.grad.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bad", [INF, -INF, float("nan")])
def test_a_bad_gradient_skips_the_step_and_shrinks_the_scale(bad):
    weight, optimizer = problem()
    s = scaler()
    assert run(s, weight, optimizer, bad) is None
    assert optimizer.steps == 0 and weight.tolist() == [1.0, 2.0]
    assert s.get_scale() == 2.0
    assert run(s, weight, optimizer) == "stepped"


def test_the_scale_grows_after_an_interval_of_good_steps():
    weight, optimizer = problem()
    s = scaler(growth_interval=2, growth_factor=3.0, backoff_factor=0.25)
    scales = []
    for factor in (1.0, 1.0, 1.0, INF, 1.0, 1.0):
        run(s, weight, optimizer, factor)
        scales.append(s.get_scale())
    assert scales == [4.0, 12.0, 12.0, 3.0, 3.0, 9.0]


def test_the_scale_does_not_grow_to_infinity():
    weight, optimizer = problem()
    s = scaler(init_scale=2.0**127, growth_interval=1)
    run(s, weight, optimizer, 2.0**-10)
    assert s.get_scale() == 2.0**127


def test_unscale_before_the_step():
    weight, optimizer = problem()
    s = scaler()
    s.scale(weight.sum()).backward()
    s.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]
    s.step(optimizer)
    assert weight.tolist() == [0.0, 1.0]


def test_one_overflow_among_several_optimizers():
    good, good_optimizer = problem()
    bad, bad_optimizer = problem()
    s = scaler()
    s.scale(good.sum() + (bad * INF).sum()).backward()
    assert s.step(good_optimizer) == "stepped" and s.step(bad_optimizer) is None
    s.update()
    assert s.get_scale() == 2.0


def test_bfloat16_gradients_and_missing_ones():
    low = t.ones(2, dtype=t.bfloat16, requires_grad=True)
    unused = t.ones(2, requires_grad=True)
    optimizer = SGD([low, unused], lr=0.5)
    s = scaler()
    s.scale(low.sum()).backward()
    s.step(optimizer)
    assert low.grad.tolist() == [1.0, 1.0] and unused.grad is None


def test_training_in_float16_needs_the_scale():
    x = t.full((4, 2), 1e-3)
    grads = []
    for enabled in (False, True):
        weight = t.full((2, 1), 1e-3, requires_grad=True)
        s = t.amp.GradScaler("cpu", init_scale=2.0**12, enabled=enabled)
        with t.autocast("cpu", dtype=t.float16):
            loss = (t.mm(x, weight) * 1e-4).mean()
        s.scale(loss).backward()
        s.unscale_(SGD([weight]))
        grads.append(weight.grad[0].item())
    assert grads[0] == 0.0 or abs(grads[0] - 1e-7) > 1e-9
    assert grads[1] == pytest.approx(1e-7, rel=0.01)


def test_update_with_a_scale():
    s = scaler()
    s.scale(t.ones(()))
    s.update(16.0)
    assert s.get_scale() == 16.0
    s.update(t.tensor(8.0))
    assert s.get_scale() == 8.0


def test_disabled():
    weight, optimizer = problem()
    s = scaler(enabled=False)
    loss = weight.sum()
    assert s.scale(loss) is loss and not s.is_enabled() and s.get_scale() == 1.0
    loss.backward()
    s.unscale_(optimizer)
    assert s.step(optimizer) == "stepped" and s.state_dict() == {}
    s.update()
    s.load_state_dict({})


def test_cuda_without_a_device_is_disabled():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s = t.amp.GradScaler()
    assert s.is_enabled() or "CUDA is not available" in str(caught[0].message)


def test_state_goes_around():
    weight, optimizer = problem()
    s = scaler(growth_interval=3)
    run(s, weight, optimizer)
    state = s.state_dict()
    assert state == {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 1,
    }
    fresh, used = scaler(init_scale=99.0), scaler()
    used.scale(t.ones(()))
    for other in (fresh, used):
        other.load_state_dict(state)
        assert other.state_dict() == state
        run(other, weight, optimizer)
        run(other, weight, optimizer)
        assert other.get_scale() == 8.0


def test_pickle_and_copy():
    weight, optimizer = problem()
    s = scaler()
    run(s, weight, optimizer)
    for other in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
        assert other.state_dict() == s.state_dict()
    s.scale(weight.sum()).backward()
    s.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning"):
        pickle.dumps(s)


def test_settings():
    s = scaler()
    s.set_growth_factor(5.0)
    s.set_backoff_factor(0.1)
    s.set_growth_interval(7)
    settings = s.get_growth_factor(), s.get_backoff_factor(), s.get_growth_interval()
    assert settings == (5.0, 0.1, 7)


class SelfScaling(SGD):
    """An optimizer that reads scale and overflow flag itself."""

    _step_supports_amp_scaling = True

    def step(self):
        self.seen = (self.grad_scale.item(), self.found_inf.item())


def test_optimizers_that_unscale_by_themselves():
    weight, _ = problem()
    optimizer = SelfScaling([weight])
    s = scaler()
    run(s, weight, optimizer)
    assert optimizer.seen == (4.0, 0.0) and weight.grad.tolist() == [4.0, 4.0]
    run(s, weight, optimizer, INF)
    assert optimizer.seen == (4.0, 1.0) and not hasattr(optimizer, "found_inf")


def unscaled_twice(s, weight, optimizer):
    s.unscale_(optimizer)
    s.unscale_(optimizer)


def unscaled_after_step(s, weight, optimizer):
    s.step(optimizer)
    s.unscale_(optimizer)


def stepped_twice(s, weight, optimizer):
    s.step(optimizer)
    s.step(optimizer)


def stepped_without_gradients(s, weight, optimizer):
    weight.grad = None
    s.step(optimizer)


def stepped_with_a_closure(s, weight, optimizer):
    s.step(optimizer, closure=lambda: None)


def updated_without_a_step(s, weight, optimizer):
    s.update()


def updated_before_scaling(s, weight, optimizer):
    scaler().update()


def stepped_before_scaling(s, weight, optimizer):
    scaler().step(optimizer)


def updated_with_a_vector(s, weight, optimizer):
    s.update(t.ones(2))


def loaded_from_nothing(s, weight, optimizer):
    s.load_state_dict({})


def scaled_a_string(s, weight, optimizer):
    s.scale(3)


def unscaled_half_gradients(s, weight, optimizer):
    half = t.ones(2, dtype=t.float16, requires_grad=True)
    half.grad = t.ones(2, dtype=t.float16)
    s.step(SGD([half]))


@pytest.mark.parametrize(
    "misuse, error, phrase",
    [
        (unscaled_twice, RuntimeError, "unscale_() has already been called on this optimizer"),
        (unscaled_after_step, RuntimeError, "unscale_() is being called after step()."),
        (stepped_twice, RuntimeError, "step() has already been called since the last update()."),
        (stepped_without_gradients, AssertionError, "No inf checks were recorded for this"),
        (stepped_with_a_closure, RuntimeError, "Closure use is not currently supported"),
        (updated_without_a_step, AssertionError, "No inf checks were recorded prior to update."),
        (updated_before_scaling, AssertionError, "Attempted update but _scale is None."),
        (stepped_before_scaling, AssertionError, "Attempted step but _scale is None."),
        (updated_with_a_vector, AssertionError, "new_scale should be a float or a 1-element"),
        (loaded_from_nothing, RuntimeError, "The source state dict is empty"),
        (scaled_a_string, ValueError, "outputs must be a Tensor or an iterable of Tensors"),
        (unscaled_half_gradients, ValueError, "Attempting to unscale FP16 gradients."),
    ],
)
def test_misuse(misuse, error, phrase):
    weight, optimizer = problem()
    s = scaler()
    s.scale(weight.sum()).backward()
    with pytest.raises(error) as raised:
        misuse(s, weight, optimizer)
    assert phrase in str(raised.value)


@pytest.mark.parametrize("settings", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}])
def test_bad_factors(settings):
    with pytest.raises(AssertionError, match="factor must be"):
        scaler(**settings)


def test_the_operator_unscales_and_finds_what_is_not_finite():
    grads = [t.tensor([2.0, 4.0]), t.tensor([8.0], dtype=t.float16)]
    found = t.zeros(())
    assert t._amp_foreach_non_finite_check_and_unscale_(grads, found, t.tensor(0.5)) is None
    assert [g.tolist() for g in grads] == [[1.0, 2.0], [4.0]] and found.item() == 0
    grads[0][0] = INF
    t._amp_foreach_non_finite_check_and_unscale_(grads, found, t.tensor(0.5))
    assert found.item() == 1
    t._amp_foreach_non_finite_check_and_unscale_(grads[1:], found, t.tensor(1.0))
    assert found.item() == 1  # stays


@pytest.mark.parametrize(
    "found, steps, want", [(1.0, 3, (2.0, 0)), (0.0, 0, (4.0, 1)), (0.0, 1, (12.0, 0))]
)
def test_the_operator_adapts_the_scale(found, steps, want):
    scale, tracker = t.tensor(4.0), t.tensor(steps, dtype=t.int32)
    assert t._amp_update_scale_(scale, tracker, t.tensor(found), 3.0, 0.5, 2) is scale
    assert (scale.item(), tracker.item()) == want


@pytest.mark.parametrize(
    "found, scale, phrase",
    [
        (t.zeros(2), t.ones(()), "found_inf must be a 1-element tensor."),
        (t.zeros(()), t.ones(2), "inv_scale must be a 1-element tensor."),
        (t.zeros((), dtype=t.float64), t.ones(()), "found_inf must be a float tensor."),
    ],
)
def test_the_flag_and_the_scale_are_one_number(found, scale, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        t._amp_foreach_non_finite_check_and_unscale_([t.ones(2)], found, scale)
