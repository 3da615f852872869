"""The operators that a dispatch mode sees are PyTorch's, with the same kinds of arguments.

golden/dispatch.json holds what PyTorch shows for the calls of dispatch_calls.py.
"""

import json
from pathlib import Path

import pytest
from dispatch_calls import calls, seen
from taeda.utils._python_dispatch import TorchDispatchMode

import taeda

GOLDEN = json.loads((Path(__file__).parent / "golden/dispatch.json").read_text())

ONE_DIVISION = "a division, in one pass and with one rounding, for a reciprocal and a product"
ONE_SHIFT = "PyTorch keeps __lshift__ beside bitwise_left_shift, Taeda has the one operator"
OWN_OPERATOR = "an operator of its own where PyTorch composes"
COMPOSED = "composed of others where PyTorch has an operator"
NO_TENSOR = "a number stays a number where PyTorch makes a tensor of it"

DIFFERENT = {
    "2 / x": ONE_DIVISION,
    **dict.fromkeys(("i << 3", "i << i", "i >> 3", "i >> i"), ONE_SHIFT),
    **dict.fromkeys(("op.ilshift(i, 3)", "op.ilshift(i, i)"), ONE_SHIFT),
    **dict.fromkeys(("op.irshift(i, 3)", "op.irshift(i, i)"), ONE_SHIFT),
    "t.isfinite(x)": OWN_OPERATOR,
    "t.isclose(x, y)": "isfinite is " + OWN_OPERATOR,
    "F.cross_entropy(x, c)": OWN_OPERATOR,
    "F.one_hot(c, 4)": OWN_OPERATOR,
    "t.sgn(x)": "sign serves real numbers",
    "t.aminmax(x)": COMPOSED,
    "x.rot90()": COMPOSED,
    "t.conj_physical(z)": COMPOSED,
    "x.count_nonzero()": "one operator for all lists of dimensions",
    "x.count_nonzero(1)": "one operator for all lists of dimensions",
    "t.einsum('ij,jk->ik', x, m)": "the plan of a contraction is Taeda's own",
    "x.view(t.int32)": "PyTorch detaches the result once more",
    "t.where(b, x, 2)": NO_TENSOR,
    "t.where(b, 2, x)": NO_TENSOR,
    "x.__setitem__(0, 2)": NO_TENSOR,
    "x.__setitem__(b, 2.0)": "a tensor made of a number for this write is not shown",
    "t.tensor([1.0])": "what is made of Python data is copied where modes see it",
}


def ours(expression):
    return seen(taeda, taeda.nn.functional, TorchDispatchMode, expression)


def test_the_golden_file_has_every_call():
    assert list(GOLDEN) == calls()
    assert len(GOLDEN) > 500
    assert set(DIFFERENT) <= set(GOLDEN)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("expression", [e for e in calls() if e not in DIFFERENT])
def test_operators_are_those_of_pytorch(expression):
    assert ours(expression) == GOLDEN[expression]


@pytest.mark.parametrize("expression", DIFFERENT)
def test_known_differences_remain(expression):
    found = ours(expression)
    assert found != GOLDEN[expression], "the same now: take it off the list"
    assert not found[-1].endswith("Error")
