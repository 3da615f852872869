"""Schedules of learning rates: values, state dicts, order of calls, errors."""

import copy
import math
import pickle
import warnings

import pytest
from under_test import t

s = t.optim.lr_scheduler


def optimizer(lr=1.0, cls="SGD", groups=1, **options):
    params = [{"params": [t.ones(1, requires_grad=True)]} for _ in range(groups)]
    return getattr(t.optim, cls)(params, lr=lr, **options)


def rates(scheduler, steps):
    found = []
    for _ in range(steps):
        found.append(scheduler.optimizer.param_groups[0]["lr"])
        scheduler.optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda o: s.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda o: s.MultiStepLR(o, [1, 3], 0.5), [1, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: s.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1, 1]),
        (lambda o: s.LinearLR(o, 0.2, 1.0, 4), [0.2, 0.4, 0.6, 0.8, 1.0]),
        (lambda o: s.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: s.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0]),
        (lambda o: s.LambdaLR(o, lambda e: 1 / (1 + e)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        (lambda o: s.MultiplicativeLR(o, lambda e: 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: s.CosineAnnealingLR(o, 4), [1, (1 + math.sqrt(0.5)) / 2, 0.5, 0.1464466, 0]),
        (lambda o: s.CosineAnnealingWarmRestarts(o, 2), [1, 0.5, 1, 0.5, 1]),
        (
            lambda o: s.CyclicLR(o, 0.0, 1.0, step_size_up=2, cycle_momentum=False),
            [0, 0.5, 1, 0.5, 0],
        ),
        (
            lambda o: s.OneCycleLR(o, 1.0, 5, pct_start=0.4, div_factor=10, cycle_momentum=False),
            [0.1, 1.0, 0.75, 0.25, 1e-5],
        ),
    ],
)
def test_values(make, expected):
    assert rates(make(optimizer()), 5) == pytest.approx(expected, abs=1e-4)


def test_momentum_goes_against_the_learning_rate():
    o = optimizer(momentum=0.5)
    scheduler = s.CyclicLR(o, 0.0, 1.0, 2, base_momentum=0.6, max_momentum=0.9)
    seen = []
    for _ in range(3):
        seen.append(o.param_groups[0]["momentum"])
        o.step()
        scheduler.step()
    assert seen == pytest.approx([0.9, 0.75, 0.6])
    betas = optimizer(cls="Adam")
    s.OneCycleLR(betas, 1.0, 10)
    assert betas.param_groups[0]["betas"] == (0.95, 0.999)
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
        s.CyclicLR(optimizer(cls="Adagrad"), 0.1, 1.0)


def test_plateau_waits_and_cools_down():
    o = optimizer()
    scheduler = s.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=2, min_lr=0.2)
    seen = []
    for metric in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        scheduler.step(metric)
        seen.append(scheduler.get_last_lr()[0])
    assert seen == [1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]


def test_sequences_begin_each_schedule_at_its_milestone():
    o = optimizer()
    parts = [s.ConstantLR(o, 0.5, 100), s.ExponentialLR(o, 0.5)]
    assert rates(s.SequentialLR(o, parts, [2]), 5) == [0.5, 0.5, 1, 0.5, 0.25]


def test_chained_schedules_act_together():
    o = optimizer()
    chain = s.ChainedScheduler([s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.5)])
    assert rates(chain, 4) == pytest.approx([0.5, 0.25, 0.25, 0.125])


def test_tensors_of_learning_rates_are_changed_in_place():
    lr = t.tensor(1.0)
    o = optimizer(lr)
    scheduler = s.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert o.param_groups[0]["lr"] is lr and lr.item() == 0.5
    assert scheduler.base_lrs[0].item() == 1.0 and scheduler.get_last_lr()[0] is not lr


@pytest.mark.parametrize(
    "make",
    [
        lambda o: s.StepLR(o, 2, 0.5),
        lambda o: s.MultiStepLR(o, [1, 3], 0.5),
        lambda o: s.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda o: s.CyclicLR(o, 0.1, 1.0, 2, mode="exp_range", gamma=0.5, cycle_momentum=False),
        lambda o: s.OneCycleLR(o, 1.0, 20, cycle_momentum=False),
        lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 9), s.ExponentialLR(o, 0.5)], [3]),
        lambda o: s.ChainedScheduler([s.StepLR(o, 2, 0.5), s.ExponentialLR(o, 0.9)]),
    ],
)
def test_state_dicts_continue_a_schedule(make):
    first = make(optimizer())
    rates(first, 4)
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = make(optimizer())
    second.load_state_dict(copy.deepcopy(state))
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    assert rates(second, 5) == rates(first, 5)
    assert second.state_dict() == first.state_dict()


def test_state_dicts_have_the_fields_of_function_objects():
    class Half:
        factor = 0.5

        def __call__(self, epoch):
            return self.factor**epoch

    function = Half()
    function.factor = 0.25
    state = s.LambdaLR(optimizer(), function).state_dict()
    assert state["lr_lambdas"] == [{"factor": 0.25}]
    other = s.LambdaLR(optimizer(), Half())
    other.load_state_dict(state)
    assert other.lr_lambdas[0].factor == 0.25
    assert s.LambdaLR(optimizer(), lambda e: 1.0).state_dict()["lr_lambdas"] == [None]


def test_resuming_needs_the_first_learning_rate():
    o = optimizer()
    with pytest.raises(KeyError, match=r"param 'initial_lr' is not specified in param_groups\[0\]"):
        s.StepLR(o, 2, last_epoch=3)
    o.param_groups[0]["initial_lr"] = 1.0
    assert s.StepLR(o, 2, last_epoch=3).last_epoch == 4


def test_the_order_of_steps_is_watched():
    scheduler = s.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before"):
        scheduler.step()
    o = optimizer()
    scheduler = s.StepLR(o, 2)
    o.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates(s.StepLR(optimizer(), 2), 3)


def test_epochs_and_get_lr_are_warned_of():
    scheduler = s.StepLR(optimizer(), 2)
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(4)
    assert scheduler.get_last_lr() == [pytest.approx(0.01)]
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda o: s.StepLR(3, 2), TypeError, "int is not an Optimizer"),
        (lambda o: s.LambdaLR(o, [len, len]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda o: s.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function, but got"),
        (lambda o: s.ConstantLR(o, 2.0), ValueError, "expected to be between 0 and 1"),
        (lambda o: s.LinearLR(o, 0.0), ValueError, "expected to be greater than 0"),
        (lambda o: s.LinearLR(o, 0.5, 2.0), ValueError, "Ending multiplicative factor"),
        (
            lambda o: s.CosineAnnealingWarmRestarts(o, 0),
            ValueError,
            "Expected positive integer T_0",
        ),
        (lambda o: s.OneCycleLR(o, 1.0), ValueError, "You must define either total_steps OR"),
        (lambda o: s.OneCycleLR(o, 1.0, 0), ValueError, "Expected positive integer total_steps"),
        (lambda o: s.OneCycleLR(o, 1.0, 5, anneal_strategy="no"), ValueError, "instead got no"),
        (lambda o: s.CyclicLR(o, 0.1, 1, mode="no"), ValueError, "mode is invalid"),
        (lambda o: s.CyclicLR(o, [0.1, 1], 1), ValueError, "base_lr must have the same length"),
        (lambda o: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda o: s.ReduceLROnPlateau(o, "no"), ValueError, "mode no is unknown!"),
        (lambda o: s.ReduceLROnPlateau(o, min_lr=[0, 0]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda o: s.SequentialLR(o, [], []), ValueError, "expects at least one scheduler"),
        (
            lambda o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
            ValueError,
            "does not support `ReduceLROnPlateau`",
        ),
        (
            lambda o: s.SequentialLR(o, [s.StepLR(o, 2)], [3]),
            ValueError,
            "number of schedulers 1 and the number of milestones to be equal to 1",
        ),
        (
            lambda o: s.ChainedScheduler([s.StepLR(o, 2), s.StepLR(optimizer(), 2)]),
            ValueError,
            "expects all schedulers to belong to the same optimizer",
        ),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(optimizer(momentum=0.9))


def test_a_cyclic_schedule_keeps_the_order_of_its_state():
    optimizer = t.optim.SGD([t.ones(2)], lr=0.1, momentum=0.9)
    schedule = t.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)
    assert list(schedule.state_dict())[-2:] == ["_last_lr", "_scale_fn_custom"]
