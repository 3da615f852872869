"""Losses over no classes at all, on devices that compile kernels."""

import lowered_calls
import pytest

import taeda

F = taeda.nn.functional
LOSSES = {
    "cross_entropy": F.cross_entropy,
    "cross_entropy with weights": lambda x, t, **k: F.cross_entropy(
        x, t, weight=taeda.ones(0, device=x.device), **k
    ),
    "nll_loss": F.nll_loss,
    "nll_loss2d": lambda x, t, **k: F.nll_loss(x[:, :, None, None], t[:, None, None], **k),
}


@pytest.fixture(scope="module", params=["interpreted", "deferring"])
def device(request):
    return lowered_calls.load(request.param)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_ignored_targets_lose_nothing_without_classes(name, rows, reduction, device):
    found = []
    for place in ("cpu", device):
        x = taeda.zeros(rows, 0, device=place, requires_grad=True)
        target = taeda.full((rows,), -100, device=place)
        loss = LOSSES[name](x, target, reduction=reduction)
        loss.sum().backward()
        assert x.grad.shape == (rows, 0)
        found.append(loss.detach())
    assert lowered_calls.has_same_bits(*found)


@pytest.mark.parametrize("target", [0, 3, -1])
@pytest.mark.parametrize("name", LOSSES)
def test_every_class_is_out_of_bounds_without_classes(name, target, device):
    targets = taeda.tensor([-100, target], device=device)
    with pytest.raises(IndexError, match=f"Target {target} is out of bounds"):
        LOSSES[name](taeda.zeros(2, 0, device=device), targets).cpu()
