"""Optimizers, schedules and averages beside PyTorch's: trajectories, state dicts both ways."""

import warnings

import pytest
from optim_cases import FUSED, IDS, OVER_LISTS, SETTINGS, parameters, run

import taeda

# Steps of Muon round to bfloat16 on the way; others differ by the rounding of float32.
CLOSE = {"Muon": 2e-2, "RMSprop": 1e-4}


def made(t, name, options):
    # A line search decides by comparisons, which a rounding turns round.
    params = parameters(t, t.float64 if name == "LBFGS" else None)
    return params, getattr(t.optim, name)(params, **options)


def assert_close(seen, expected, name):
    tolerance = CLOSE.get(name, 1e-5)
    for step, (ours, theirs) in enumerate(zip(seen, expected)):
        for a, b in zip(ours, theirs):
            assert a == pytest.approx(b, rel=tolerance, abs=tolerance), step


@pytest.mark.parametrize("name, options", SETTINGS, ids=IDS)
def test_trajectories(torch, name, options):
    expected = run(*made(torch, name, options))
    forms = [{}]
    if name in OVER_LISTS:
        forms += [{"foreach": False}, {"foreach": True}]
    if name in FUSED:
        forms.append({"fused": True})
    for form in forms:
        assert_close(run(*made(taeda, name, {**options, **form})), expected, name)


def converted(value, t):
    """A state dict with the tensors of another package."""
    if hasattr(value, "tolist"):
        dtype = str(value.dtype).rpartition(".")[2]
        return t.tensor(value.tolist(), dtype=getattr(t, dtype))
    if isinstance(value, dict):
        return {key: converted(item, t) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(converted(item, t) for item in value)
    return value


@pytest.mark.parametrize("name, options", SETTINGS, ids=IDS)
def test_state_dicts_go_both_ways(torch, name, options):
    for source, target in ((torch, taeda), (taeda, torch)):
        params, optimizer = made(source, name, options)
        run(params, optimizer, 5)
        others, other = made(target, name, options)
        for theirs, ours in zip(params, others):
            ours.data.copy_(converted(theirs.detach(), target))
        other.load_state_dict(converted(optimizer.state_dict(), target))
        assert_close(run(others, other, 5), run(params, optimizer, 5), name)


@pytest.mark.parametrize("name, options", SETTINGS, ids=IDS)
def test_state_dicts_have_the_same_entries(torch, name, options):
    states = []
    for t in (torch, taeda):
        params, optimizer = made(t, name, options)
        run(params, optimizer, 2)
        states.append((optimizer.state_dict(), repr(optimizer)))
    (theirs, their_text), (ours, our_text) = states
    assert ours["param_groups"] == theirs["param_groups"]
    assert our_text == their_text
    assert list(ours["state"]) == list(theirs["state"])
    for position, state in theirs["state"].items():
        assert list(ours["state"][position]) == list(state)
        for key, value in state.items():
            if hasattr(value, "dtype"):
                mine = ours["state"][position][key]
                assert str(mine.dtype) == str(value.dtype), key
                assert tuple(mine.shape) == tuple(value.shape), key


# ---- schedules ----
def schedules(t):
    """Makers of schedules, by name; each is given an optimizer of two groups."""
    s, swa = t.optim.lr_scheduler, t.optim.swa_utils
    return {
        "LambdaLR": lambda o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
        "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda e: 0.95),
        "StepLR": lambda o: s.StepLR(o, 3, gamma=0.5),
        "MultiStepLR": lambda o: s.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
        "ConstantLR": lambda o: s.ConstantLR(o, factor=0.25, total_iters=4),
        "LinearLR": lambda o: s.LinearLR(o, start_factor=0.2, end_factor=0.8, total_iters=6),
        "ExponentialLR": lambda o: s.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: s.PolynomialLR(o, total_iters=8, power=2.0),
        "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
        "CosineAnnealingWarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
        "CyclicLR": lambda o: s.CyclicLR(o, 0.1, [0.5, 0.9], step_size_up=3, step_size_down=4),
        "CyclicLR triangular2": lambda o: s.CyclicLR(o, 0.1, 0.5, 3, mode="triangular2"),
        "CyclicLR exp_range": lambda o: s.CyclicLR(o, 0.1, 0.5, 3, mode="exp_range", gamma=0.9),
        "OneCycleLR": lambda o: s.OneCycleLR(o, 0.5, total_steps=20),
        "OneCycleLR three_phase": lambda o: s.OneCycleLR(
            o, [0.5, 0.2], epochs=4, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
        ),
        "SequentialLR": lambda o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.8)], milestones=[4]
        ),
        "ChainedScheduler": lambda o: s.ChainedScheduler(
            [s.StepLR(o, 4, 0.5), s.ExponentialLR(o, 0.9)]
        ),
        "SWALR": lambda o: swa.SWALR(o, 0.02, anneal_epochs=6),
        "SWALR linear": lambda o: swa.SWALR(o, [0.02, 0.5], 4, anneal_strategy="linear"),
    }


def groups(t):
    a, b, _ = parameters(t)
    return t.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.3}], lr=0.1, momentum=0.9)


def rates(t, make, steps=18):
    optimizer = groups(t)
    scheduler = make(optimizer)
    seen = []
    for _ in range(steps):
        optimizer.step()
        seen.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        scheduler.step()
        assert scheduler.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
    return seen, scheduler


@pytest.mark.parametrize("name", schedules(taeda))
def test_schedules(torch, name):
    ours, mine = rates(taeda, schedules(taeda)[name])
    theirs, other = rates(torch, schedules(torch)[name])
    assert ours == theirs
    kept = [key for key, value in other.state_dict().items() if not callable(value)]
    mine_kept = [key for key, value in mine.state_dict().items() if not callable(value)]
    assert sorted(mine_kept) == sorted(kept)


@pytest.mark.parametrize("name", schedules(taeda))
def test_schedules_of_given_epochs(torch, name):
    if name in ("SequentialLR", "ChainedScheduler"):
        pytest.skip("they take no epoch")
    seen = []
    for t in (taeda, torch):
        optimizer = groups(t)
        scheduler = schedules(t)[name](optimizer)
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (1, 5, 2, 7):
                optimizer.step()
                scheduler.step(epoch)
                found.append(scheduler.get_last_lr())
        seen.append(found)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateaus(torch, mode, threshold_mode):
    metrics = [1.0, 0.9, 0.95, 0.94, 0.93, 0.8, 0.85, 0.9, 0.99, 1.2, 1.1, 1.0, 0.7, 0.7, 0.7, 0.7]
    seen = []
    for t in (taeda, torch):
        optimizer = groups(t)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, 1, 0.01, threshold_mode, cooldown=1, min_lr=[0.01, 0.1]
        )
        found = []
        for metric in metrics:
            scheduler.step(metric)
            found.append((scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.best))
        seen.append((found, scheduler.state_dict()))
    assert seen[0] == seen[1]
