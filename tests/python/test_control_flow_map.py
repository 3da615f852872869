"""map as plain Python runs it."""

import importlib

import pytest
from under_test import NAME, t

hop_map = importlib.import_module(f"{NAME}._higher_order_ops").map
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def test_values_and_gradients():
    xs = t.arange(6.0).view(3, 2).requires_grad_()
    w = t.full((2,), 3.0, requires_grad=True)
    out = hop_map(lambda x, v: x * v * w, xs, t.full((2,), 2.0))
    assert t.equal(out, xs * 6)
    out.sum().backward()
    assert t.equal(xs.grad, t.full((3, 2), 6.0)) and t.equal(w.grad, 2 * xs.sum(0))


def test_nested_inputs_results_and_arguments():
    xs = t.arange(6.0).view(3, 2)
    out = hop_map(
        lambda x, c: {"p": x[0] + x[1], "q": x[1] + c["k"]}, [xs, xs + 1], {"k": xs[0].clone()}
    )
    assert t.equal(out["p"], 2 * xs + 1) and t.equal(out["q"], xs + 1 + xs[0])


@pytest.mark.parametrize(
    ("xs", "message"),
    [
        ([1.0], "Mapped xs can only consist of tensors"),
        (t.ones(0, 2), "Leading dimensions of mapped xs cannot be 0"),
        ([t.ones(3), t.ones(2)], "Leading dimensions of mapped xs must be consistent"),
    ],
)
def test_arguments_that_do_not_fit(xs, message):
    with pytest.raises(RuntimeError, match=message):
        hop_map(lambda x: x, xs)


@only_taeda
def test_vmap():
    xs = t.arange(12.0).view(2, 3, 2)
    assert t.equal(t.vmap(lambda x: hop_map(lambda row: row.sum(), x))(xs), xs.sum(2))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x.add_(1) * 2, "Encountered input mutation"),
        (lambda x: x, "Encountered aliasing"),
        (lambda x: (x.sin(), x[:1]), "Encountered aliasing"),
    ],
)
def test_functions_neither_write_to_inputs_nor_return_them(f, message):
    with pytest.raises(RuntimeError, match=message):
        hop_map(f, t.ones(3, 2))


@only_taeda
def test_functions_return_tensors():
    with pytest.raises(RuntimeError, match=r"Expected all leaves to be of torch\.Tensor type"):
        hop_map(lambda x: (x + 1, 3), t.ones(3, 2))
