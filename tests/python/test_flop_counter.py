"""FlopCounterMode: operations of matrix products, by operator."""

import importlib

import pytest
from under_test import NAME, t

flop_counter = importlib.import_module(f"{NAME}.utils.flop_counter")
FlopCounterMode = flop_counter.FlopCounterMode
aten = t.ops.aten


def test_flops_of_products():
    counter = FlopCounterMode(display=False)
    x = t.ones(2, 3, requires_grad=True)
    w = t.ones(4, 3, requires_grad=True)
    with counter:
        y = t.nn.functional.linear(x, w, t.ones(4))
    assert counter.get_total_flops() == 2 * 2 * 3 * 4
    assert counter.get_flop_counts() == {"Global": {aten.addmm: 48}}
    with counter:
        y.sum().backward()
    assert counter.get_flop_counts() == {"Global": {aten.mm: 96}}
    with counter:
        t.bmm(t.ones(5, 2, 3), t.ones(5, 3, 4))
        t.baddbmm(t.ones(2, 4), t.ones(5, 2, 3), t.ones(5, 3, 4))
    assert counter.get_flop_counts() == {"Global": {aten.bmm: 240, aten.baddbmm: 240}}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_flops_of_convolutions(transposed, groups):
    counter = FlopCounterMode(display=False)
    x = t.ones(2, 4, 5, 6, requires_grad=True)
    w = t.ones(4, 6 // groups if transposed else 4 // groups, 3, 2, requires_grad=True)
    with counter:
        y = t.convolution(x, w, None, [2, 1], [1, 0], [1, 1], transposed, [0, 0], groups)
    places = 5 * 6 if transposed else 3 * 5
    forward = 2 * 2 * places * w.numel()
    assert counter.get_flop_counts() == {"Global": {aten.convolution: forward}}
    with counter:
        y.sum().backward()
    for_weight = 2 * 2 * places * 4 * (6 if transposed else 4) * 3 * 2
    expected = {aten.convolution_backward: forward + for_weight}
    assert counter.get_flop_counts() == {"Global": expected}


@pytest.mark.skipif(NAME == "torch", reason="PyTorch counts attention on other devices alone")
def test_flops_of_attention_are_those_of_its_products():
    counter = FlopCounterMode(display=False)
    q, k, v = (t.ones(2, 3, n, 4, requires_grad=True) for n in (5, 7, 7))
    with counter:
        y = t.nn.functional.scaled_dot_product_attention(q, k, v)
    product = 2 * (2 * 3) * 5 * 7 * 4
    assert counter.get_total_flops() == 2 * product
    with counter:
        y.sum().backward()
    assert counter.get_total_flops() == 5 * product


def test_flops_by_a_formula_of_ones_own():
    mapping = {aten.sin: lambda shape, out_shape=None: 7 * shape[0]}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        t.ones(3).sin()
    assert counter.get_total_flops() == 21
    with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.mm"):
        flop_counter.register_flop_formula(aten.mm)(lambda *args, **kwargs: 0)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch needs another package to print tables")
def test_the_table_of_flops(capsys):
    with FlopCounterMode():
        t.mm(t.ones(30, 40), t.ones(40, 50))
        t.bmm(t.ones(5, 4, 6), t.ones(5, 6, 5))
    assert capsys.readouterr().out == (
        "Module           FLOP  % Total\n"
        "-----------  --------  -------\n"
        "Global       121.200K  100.00%\n"
        " - aten.mm   120.000K   99.01%\n"
        " - aten.bmm    1.200K    0.99%\n"
    )
    assert "0%" in FlopCounterMode(display=False).get_table()


class Block(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = t.nn.Linear(30, 40)
        self.rest = t.nn.Sequential(t.nn.Linear(40, 50), t.nn.ReLU(), t.nn.Linear(50, 6))

    def forward(self, x):
        return self.rest(self.first(x).relu())


@pytest.mark.parametrize("requires_grad", [True, False])
def test_flops_by_module(requires_grad):
    model = Block()
    x = t.ones(7, 30, requires_grad=requires_grad)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    counts = counter.get_flop_counts()
    assert set(counts) == {
        "Global",
        "Block",
        "Block.first",
        "Block.rest",
        "Block.rest.0",
        "Block.rest.2",
    }
    assert counts["Block.rest.0"] == {aten.addmm: 28000, aten.mm: 56000}
    assert counts["Block.first"][aten.mm] == 16800 * (1 + requires_grad)
    assert counts["Block"] == counts["Global"]
    # Outside of it hooks are gone.
    model(x)
    assert counter.get_flop_counts() == counts


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch needs another package to print tables")
def test_the_table_by_module():
    with FlopCounterMode(depth=2, display=False) as counter:
        Block()(t.ones(7, 30)) @ t.ones(6, 2)
    assert counter.get_table().splitlines()[2:] == [
        "Global           49.168K  100.00%",
        " - aten.addmm    49.000K   99.66%",
        " - aten.mm        0.168K    0.34%",
        " Block           49.000K   99.66%",
        "  - aten.addmm   49.000K   99.66%",
        "  Block.first    16.800K   34.17%",
        "   - aten.addmm  16.800K   34.17%",
        "  Block.rest     32.200K   65.49%",
        "   - aten.addmm  32.200K   65.49%",
    ]
    assert "Block.rest.0" in counter.get_table(depth=3)
