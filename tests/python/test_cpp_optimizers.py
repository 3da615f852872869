"""Optimizers and schedules of C++ do the arithmetic of those in Python."""

import pathlib

import pytest
from cpp_program import run_program

import taeda as t
from taeda import nn
from taeda.optim import lr_scheduler as schedules

pytestmark = pytest.mark.slow

PROGRAM = pathlib.Path(__file__).with_name("programs") / "optimizers.cpp"
OPTIMIZERS = {
    "Adamax": lambda p: t.optim.Adamax(p, 0.1, weight_decay=0.01),
    "NAdam": lambda p: t.optim.NAdam(p, 0.1, weight_decay=0.01),
    "NAdam_decoupled": lambda p: t.optim.NAdam(
        p, 0.1, weight_decay=0.1, decoupled_weight_decay=True
    ),
    "RAdam": lambda p: t.optim.RAdam(p, 0.1, (0.8, 0.9), weight_decay=0.01),
    "Adadelta": lambda p: t.optim.Adadelta(p, 1.0, weight_decay=0.01),
    "Rprop": lambda p: t.optim.Rprop(p, 0.05),
    "ASGD": lambda p: t.optim.ASGD(p, 0.1, t0=3, lambd=0.01),
    "Adafactor": lambda p: t.optim.Adafactor(p, 0.5, weight_decay=0.01),
    "Muon": lambda p: t.optim.Muon(p, 0.1),
    "Muon_adamw": lambda p: t.optim.Muon(p, 0.1, adjust_lr_fn="match_rms_adamw", nesterov=False),
}
SCHEDULES = {
    "StepLR": lambda o: schedules.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, [2, 5, 5], 0.5),
    "ConstantLR": lambda o: schedules.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda o: schedules.LinearLR(o, 0.25, 0.75, 6),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda o: schedules.PolynomialLR(o, 6, 2.0),
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
    "MultiplicativeLR": lambda o: schedules.MultiplicativeLR(
        o, lambda epoch: 0.5 if epoch % 2 else 1.5
    ),
    "CosineAnnealingLR": lambda o: schedules.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda o: schedules.CyclicLR(o, 0.01, [0.1, 0.2], 3),
    "CyclicLR_triangular2": lambda o: schedules.CyclicLR(
        o, 0.01, 0.1, 2, 3, "triangular2", cycle_momentum=False
    ),
    "CyclicLR_exp_range": lambda o: schedules.CyclicLR(
        o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9
    ),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.4, 14),
    "OneCycleLR_three_phases": lambda o: schedules.OneCycleLR(
        o, [0.4, 0.8], 16, three_phase=True, anneal_strategy="linear"
    ),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o,
        [
            schedules.ConstantLR(o, 0.1, 20),
            schedules.ExponentialLR(o, 0.9),
            schedules.CosineAnnealingWarmRestarts(o, 3),
        ],
        [3, 7],
    ),
    "ChainedScheduler": lambda o: schedules.ChainedScheduler(
        [schedules.ConstantLR(o, 0.5, 4), schedules.ExponentialLR(o, 0.9)]
    ),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The numbers that the C++ program prints, by name."""
    folder = tmp_path_factory.mktemp("optimizers")
    lines = run_program(PROGRAM.read_text(), folder).splitlines()
    return {name: [float(x) for x in numbers] for name, *numbers in map(str.split, lines)}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_has_equal_losses_in_both_languages(printed, name):
    t.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 4, bias=False), nn.Tanh(), nn.Linear(4, 3, bias=False))
    x, y = t.randn(12, 6), t.randn(12, 3)
    optimizer = OPTIMIZERS[name](model.parameters())
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] != losses[0]
    assert printed[name] == pytest.approx(losses, rel=1e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_gives_equal_rates_in_both_languages(printed, name):
    a, b = (t.zeros(1, requires_grad=True) for _ in range(2))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.5}]
    sgd = t.optim.SGD(groups, 0.1, momentum=0.3)
    schedule = SCHEDULES[name](sgd)
    rates = []
    for _ in range(14):
        rates += [group["lr"] for group in sgd.param_groups]
        rates.append(sgd.param_groups[0]["momentum"])
        sgd.step()
        schedule.step()
    assert len(set(rates)) > 3
    assert printed[name] == pytest.approx(rates, rel=1e-9, abs=1e-12)
