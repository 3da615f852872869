"""Averages of models: parameters, buffers, functions of one's own, schedules."""

import copy

import pytest
from under_test import t

swa = t.optim.swa_utils
nn = t.nn


def net():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    model.register_buffer("count", t.tensor([1.0]))
    return model


def shifted(model, by):
    twin = copy.deepcopy(model)
    with t.no_grad():
        for tensor in (*twin.parameters(), *twin.buffers()):
            tensor.add_(by)
    return twin


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
        {"avg_fn": swa.get_swa_avg_fn()},
        {"avg_fn": lambda average, param, count: average + (param - average) / (count + 1)},
    ],
)
def test_all_models_count_the_same(settings):
    model = net()
    average = swa.AveragedModel(model, **settings)
    for by in (0.0, 1.0, 5.0):
        average.update_parameters(shifted(model, by))
    for ours, start in zip(average.module.parameters(), model.parameters()):
        assert t.allclose(ours, start + 2.0, atol=1e-6)
    assert average.n_averaged.item() == 3
    # Buffers are those of the last model.
    assert average.module.count.item() == 6.0


@pytest.mark.parametrize(
    "settings",
    [{"multi_avg_fn": swa.get_ema_multi_avg_fn(0.75)}, {"avg_fn": swa.get_ema_avg_fn(0.75)}],
)
def test_moving_averages_and_buffers(settings):
    model = net()
    average = swa.AveragedModel(model, use_buffers=True, **settings)
    for by in (0.0, 4.0):
        average.update_parameters(shifted(model, by))
    assert average.module.count.item() == 2.0
    for ours, start in zip(average.module.parameters(), model.parameters()):
        assert t.allclose(ours, start + 1.0, atol=1e-6)


def test_the_average_runs_and_is_saved_as_a_module():
    model = net()
    average = swa.AveragedModel(model)
    average.update_parameters(model)
    x = t.randn(4, 2)
    assert t.equal(average(x), model(x))
    assert "n_averaged" in average.state_dict()
    other = swa.AveragedModel(net())
    other.load_state_dict(average.state_dict())
    assert other.n_averaged.item() == 1 and t.equal(other(x), model(x))


def test_refused():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be"):
        swa.AveragedModel(net(), avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match=r"Invalid decay value 1.5 provided"):
        swa.get_ema_avg_fn(1.5)
    o = t.optim.SGD([t.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear'"):
        swa.SWALR(o, 0.1, anneal_strategy="no")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        swa.SWALR(o, 0.1, anneal_epochs=-1)


def test_swalr_goes_to_its_learning_rate_and_stays():
    o = t.optim.SGD([t.ones(1, requires_grad=True)], lr=1.0)
    scheduler = swa.SWALR(o, swa_lr=0.2, anneal_epochs=4, anneal_strategy="linear")
    seen = []
    for _ in range(6):
        seen.append(o.param_groups[0]["lr"])
        o.step()
        scheduler.step()
    assert seen == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])


class Norm(nn.Module):
    """What update_bn asks of a batch norm."""

    def __init__(self):
        super().__init__()
        self.momentum = 0.1
        self.reset_running_stats()

    def reset_running_stats(self):
        self.seen = []

    def forward(self, x):
        self.seen.append((self.training, self.momentum, x.sum().item()))
        return x


@pytest.mark.skipif(t.__name__ == "torch", reason="asks for its own class of batch norm")
def test_update_bn_runs_the_model_over_the_batches():
    model = nn.Sequential(Norm()).eval()
    swa.update_bn([t.ones(2), (t.ones(3), "target")], model)
    assert model[0].seen == [(True, None, 2.0), (True, None, 3.0)]
    assert model[0].momentum == 0.1 and not model.training
    swa.update_bn([t.ones(2)], net())


def test_counters_are_averaged_in_their_own_type():
    model = t.nn.BatchNorm1d(2)
    averaged = swa.AveragedModel(model, use_buffers=True)
    for _ in range(3):
        averaged.update_parameters(model)
        model(t.ones(3, 2))
    # Means of 0, 1 and 2, rounded towards zero as they go.
    assert averaged.module.num_batches_tracked.dtype == t.int64
    assert averaged.module.num_batches_tracked.item() == 0
