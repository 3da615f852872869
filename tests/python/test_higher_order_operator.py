"""The operators behind control flow, and operators of one's own that take functions."""

import copy
import importlib
import pickle

import pytest
from under_test import NAME, t

TorchDispatchMode = importlib.import_module(f"{NAME}.utils._python_dispatch").TorchDispatchMode
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def positive(x):
    return x.sum() > 0


def test_operators_by_name():
    op = t.ops.higher_order.cond
    assert str(op) == op.name() == op.__name__ == "cond" and op.namespace == "higher_order"
    assert copy.deepcopy(op) is op
    x = t.ones(2)
    assert t.equal(op(positive(x), lambda a: (a + 1,), lambda a: (a,), (x,))[0], x + 1)
    with pytest.raises(AttributeError):
        _ = t.ops.higher_order.no_such_operator
    if NAME == "taeda":
        assert pickle.loads(pickle.dumps(op)) is op


def test_a_mode_may_take_the_operator_as_one_call():
    class Taking(TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is t.ops.higher_order.cond:
                seen.append(func.name())
                return args[1](*args[3])
            return func(*args, **(kwargs or {}))

    seen, x = [], t.ones(2)
    with Taking():
        got = t.ops.higher_order.cond(x.sum() < 0, lambda a: (a + 1,), lambda a: (a,), (x,))
    assert t.equal(got[0], x + 1) and seen == ["cond"]


@only_taeda
def test_other_modes_see_what_runs_inside():
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen, x = [], t.ones(2)
    pred = positive(x)
    with Log():
        t.cond(pred, lambda a: a.sin(), lambda a: a.cos(), (x,))
    assert seen == ["aten._local_scalar_dense.default", "aten.sin.default"]


def test_an_operator_of_ones_own():
    base = importlib.import_module(f"{NAME}._ops").HigherOrderOperator
    with pytest.raises((RuntimeError, TypeError), match="HigherOrderOperator"):
        base("direct")

    class Twice(base):
        def __init__(self):
            super().__init__("twice_for_a_test")

        def __call__(self, fn, x):
            return super().__call__(fn, x)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    twice = Twice()
    dense = "CompositeExplicitAutograd"
    if NAME == "torch":
        dense = t._C.DispatchKey.CompositeExplicitAutograd
        for key in (t._C.DispatchKey.AutogradCPU, t._C.DispatchKey.ADInplaceOrView):
            twice.fallthrough(key)

    @twice.py_impl(dense)
    def _(fn, x):
        return fn(fn(x))

    assert t.ops.higher_order.twice_for_a_test is twice
    assert twice(lambda a: a + 1, t.zeros(1)).item() == 2
    with Mode(), pytest.raises(NotImplementedError, match="There was no rule registered for"):
        twice(lambda a: a + 1, t.zeros(1))

    @twice.py_impl(Mode)
    def _(mode, fn, x):
        return x - 1

    with Mode():
        assert twice(lambda a: a + 1, t.zeros(1)).item() == -1
