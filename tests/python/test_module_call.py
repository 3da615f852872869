"""Tests the call of a module: what makes it more than a call of forward, and what it looks like."""

import copy
import inspect
import pickle
import sys
import traceback
from collections import OrderedDict, UserDict

import pytest
from under_test import NAME, t

nn = t.nn
needs_taeda = pytest.mark.skipif(NAME != "taeda", reason="how Taeda calls forward")


class Noted(nn.Module):
    """Returns its arguments as they came."""

    def forward(self, *args, **kwargs):
        return args, kwargs


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


# ---- arguments ----
@pytest.mark.parametrize("count", [0, 1, 5, 8, 9, 40])
def test_arguments_arrive_as_given(count):
    args = tuple(range(count))
    kwargs = {f"k{i}": i for i in range(count)}
    assert Noted()(*args) == (args, {})
    assert Noted()(**kwargs) == ((), kwargs)
    assert Noted()(*args, **kwargs) == (args, kwargs)


def test_names_of_arguments_are_free():
    assert Noted()(1, args=2, kwargs=3) == ((1,), {"args": 2, "kwargs": 3})


def test_wrong_arguments_are_those_of_forward():
    with pytest.raises(TypeError, match=r"forward\(\) missing 1 required positional argument: 'x'"):
        Doubled()()
    with pytest.raises(TypeError, match=r"forward\(\) got an unexpected keyword argument 'y'"):
        Doubled()(1, y=2)


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="is missing the required"):
        nn.Module()(1)


def test_a_module_whose_init_did_not_run():
    class Unmade(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match="has no attribute '_"):
        Unmade()(1)


# ---- where forward comes from ----
def test_forward_of_the_object():
    module = Doubled()
    module.forward = lambda x: x + 1
    assert module(1) == 2
    del module.forward
    assert module(1) == 2 * 1


def test_forward_of_the_class_is_looked_up_at_each_call():
    class Changing(Doubled):
        pass

    module = Changing()
    assert module(3) == 6
    Changing.forward = lambda self, x: x + 1
    assert module(3) == 4
    del Changing.forward
    assert module(3) == 6


def test_other_kinds_of_forward():
    class Property(nn.Module):
        @property
        def forward(self):
            return lambda x: ("property", x)

    class Static(nn.Module):
        @staticmethod
        def forward(x):
            return "static", x

    class OfClass(nn.Module):
        @classmethod
        def forward(cls, x):
            return cls.__name__, x

    assert Property()(1) == ("property", 1)
    assert Static()(1) == ("static", 1)
    assert OfClass()(1) == ("OfClass", 1)


def test_attributes_of_a_class_that_finds_them_itself():
    class Finding(Doubled):
        def __getattribute__(self, name):
            if name == "forward":
                return lambda x: ("found", x)
            return super().__getattribute__(name)

    assert Finding()(1) == ("found", 1)


def test_forward_that_is_a_child():
    class Delegating(nn.Module):
        forward = property(lambda self: self.inner)

    outer = Delegating()
    outer.inner = Doubled()
    assert outer(4) == 8


# ---- overrides ----
def test_call_of_a_subclass():
    class Calling(Doubled):
        def __call__(self, x):
            return "called", super().__call__(x)

    assert Calling()(2) == ("called", 4)


def test_call_of_a_class_beside_module():
    class Mixin:
        def __call__(self, x):
            return "mixed", super().__call__(x)

    class Mixed(Mixin, Doubled):
        pass

    assert Mixed()(2) == ("mixed", 4)


def test_call_impl_of_a_subclass():
    class Inner(Doubled):
        def _call_impl(self, *args, **kwargs):
            return "inner", super()._call_impl(*args, **kwargs)

    assert Inner()(2) == ("inner", 4)


def test_call_impl_of_the_object():
    module = Doubled()
    module._call_impl = lambda x: ("own", x)
    assert module(2) == ("own", 2)


def test_call_impl_is_the_call():
    module = Doubled()
    with module.register_forward_hook(lambda m, args, result: result + 1):
        assert module._call_impl(2) == module._wrapped_call_impl(2) == module(2) == 5
    assert module._call_impl(2) == module._wrapped_call_impl(2) == module(2) == 4


def test_call_of_all_modules_can_be_replaced(monkeypatch):
    before = nn.Module.__call__
    monkeypatch.setattr(nn.Module, "__call__", lambda self, x: ("seen", before(self, x)))
    module = nn.Sequential(Doubled())
    assert module(2) == ("seen", ("seen", 4))
    monkeypatch.undo()
    assert nn.Module.__call__ is before and module(2) == 4


def test_call_impl_of_all_modules_can_be_replaced(monkeypatch):
    before = nn.Module._call_impl
    monkeypatch.setattr(nn.Module, "_call_impl", lambda self, x: ("seen", before(self, x)))
    assert Doubled()(2) == ("seen", 4)


def test_a_compiled_call():
    module = Doubled()
    module._compiled_call_impl = lambda x: ("compiled", x)
    assert module(2) == ("compiled", 2)
    module._compiled_call_impl = None
    assert module(2) == 4


# ---- hooks ----
def add_one(module, args, result):
    return result + 1


KINDS = {
    "register_forward_hook": lambda m, args, result: result + 1,
    "register_forward_pre_hook": lambda m, args: (args[0] + 0.5,),
    "register_full_backward_hook": lambda m, grad_input, grad_output: (grad_input[0] + 1,),
    "register_full_backward_pre_hook": lambda m, grad_output: (grad_output[0] + 0.5,),
}


@pytest.mark.parametrize("scope", ["module", "all"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_hook_runs_until_it_is_removed(kind, scope):
    module = Doubled()
    if scope == "module":
        register = getattr(module, kind)
    else:
        register = getattr(nn.modules.module, kind.replace("register_", "register_module_"))

    def value_and_gradient():
        x = t.ones(1, requires_grad=True)
        y = module(x)
        y.backward()
        return y.item(), x.grad.item()

    assert value_and_gradient() == (2, 2)
    handle = register(KINDS[kind])
    assert value_and_gradient() == ((2, 3) if "backward" in kind else (3, 2))
    handle.remove()
    assert value_and_gradient() == (2, 2)


def test_a_table_of_another_kind():
    module = Doubled()
    module._forward_hooks = OrderedDict({0: add_one})
    assert module(2) == 5
    module._forward_hooks = {}
    assert module(2) == 4
    module._forward_hooks = {0: add_one}
    assert module(2) == 5
    module._forward_hooks = UserDict()
    assert module(2) == 4


def test_hooks_that_came_with_a_state():
    state = Doubled().__getstate__()
    state["_forward_hooks"] = OrderedDict({0: add_one})
    module = Doubled.__new__(Doubled)
    module.__setstate__(state)
    assert module(2) == 5


def test_a_hook_that_is_added_during_the_call():
    class Adding(nn.Module):
        def forward(self, x):
            self.register_forward_hook(add_one)
            return x

    module = Adding()
    assert module(1) == 1  # PyTorch too looks for hooks before forward
    assert module(1) >= 2


def test_hooks_of_copies():
    module = Doubled()
    module.register_forward_hook(add_one)
    assert copy.deepcopy(module)(2) == copy.copy(module)(2) == 5
    assert pickle.loads(pickle.dumps(module))(2) == 5
    assert pickle.loads(pickle.dumps(Doubled()))(2) == 4


# ---- errors ----
class Failing(nn.Module):
    def forward(self, x):
        raise KeyError("from forward")


def test_tracebacks_show_every_forward():
    module = nn.Sequential(nn.Identity(), Failing())
    with pytest.raises(KeyError, match="from forward") as raised:
        module(1)
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert [name for name in frames if name == "forward"] == ["forward", "forward"]


def test_an_error_leaves_the_module_usable():
    module = Noted()
    before = inspect.currentframe()
    for _ in range(3):
        with pytest.raises(KeyError):
            Failing()(1)
        assert module(1) == ((1,), {})
    assert inspect.currentframe() is before


def test_recursion_ends_in_an_error():
    class Endless(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Endless()(1)


# ---- what it looks like ----
def test_signature_and_names():
    assert str(inspect.signature(Doubled())) == "(*args, **kwargs)"
    assert callable(nn.Module()) and callable(nn.Module.__call__)


def test_call_as_a_method():
    module = Doubled()
    bound = module.__call__
    assert bound(2) == nn.Module.__call__(module, 2) == module.__call__(2) == 4
    assert bound(x=2) == nn.Module.__call__(module, x=2) == 4


@needs_taeda
def test_call_refuses_other_objects():
    with pytest.raises(TypeError, match="__call__"):
        nn.Module.__call__(3, 2)


def test_symbolic_traces_see_calls_and_leave_none_behind():
    fx = pytest.importorskip(f"{NAME}.fx")
    before = nn.Module.__call__
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert [node.op for node in traced.graph.nodes] == [
        "placeholder",
        "call_module",
        "call_module",
        "output",
    ]
    assert nn.Module.__call__ is before
    x = t.ones(1, 2)
    assert t.equal(traced(x), traced.get_submodule("1")(traced.get_submodule("0")(x)))


# ---- layers whose forward is one call of a function ----
def _layer_and_input():
    t.manual_seed(0)
    layer, x = nn.Linear(3, 2), t.randn(4, 3)
    expected = x @ layer.weight.T + layer.bias
    t.testing.assert_close(layer(x), expected)  # from here on the class is known
    return layer, x, expected


def test_layers_agree_with_their_forward():
    t.manual_seed(0)
    x = t.randn(2, 4, 3, 3)
    layers = [
        nn.ReLU(),
        nn.ReLU(inplace=True),
        nn.SiLU(),
        nn.Mish(),
        nn.GELU(),
        nn.GELU(approximate="tanh"),
        nn.LeakyReLU(0.3),
        nn.ELU(0.5),
        nn.PReLU(4),
        nn.Dropout(0.5).eval(),
        nn.LayerNorm((3, 3)),
        nn.LayerNorm(3, elementwise_affine=False),
        nn.RMSNorm(3, eps=0.1),
        nn.GroupNorm(2, 4),
        nn.Linear(3, 5),
        nn.Linear(3, 5, bias=False),
    ]
    for layer in layers:
        t.testing.assert_close(layer(x.clone()), layer.forward(x.clone()), rtol=0, atol=0)
    table, indices = nn.Embedding(5, 3, padding_idx=1), t.tensor([[0, 1], [4, 2]])
    t.testing.assert_close(table(indices), table.forward(indices), rtol=0, atol=0)
    t.testing.assert_close(table(input=indices), table.weight[indices])


def test_another_forward_is_seen():
    class Own(nn.Linear):
        pass

    layer, x = Own(3, 2), t.ones(1, 3)
    layer(x)
    Own.forward = lambda self, x: "of the class"
    assert layer(x) == "of the class"
    layer.forward = lambda x: "of the instance"
    assert layer(x) == "of the instance"
    del layer.forward, Own.forward
    t.testing.assert_close(layer(x), layer.forward(x))


def test_another_code_of_forward_is_seen():
    layer, x, expected = _layer_and_input()
    code = nn.Linear.forward.__code__

    def forward(self, input):
        return "another code"

    nn.Linear.forward.__code__ = forward.__code__
    try:
        assert layer(x) == "another code"
    finally:
        nn.Linear.forward.__code__ = code
    t.testing.assert_close(layer(x), expected)


def test_another_call_is_seen():
    class Own(nn.Linear):
        pass

    layer, x = Own(3, 2), t.ones(1, 3)
    layer(x)
    Own.__call__ = lambda self, x: "another call"
    assert layer(x) == "another call"
    del Own.__call__
    t.testing.assert_close(layer(x), layer.forward(x))


def test_another_function_is_seen(monkeypatch):
    layer, x, _ = _layer_and_input()
    monkeypatch.setattr(nn.functional, "linear", lambda *args: args)
    assert layer(x) == (x, layer.weight, layer.bias)


def test_another_weight_is_seen():
    class Own(nn.Linear):
        pass

    layer, x = Own(3, 2, bias=False), t.ones(1, 3)
    layer(x)
    Own.weight = property(lambda self: t.zeros(2, 3))
    assert layer(x).tolist() == [[0, 0]]
    del Own.weight
    assert layer(x).tolist() != [[0, 0]]
    layer.__dict__["weight"] = t.zeros(2, 3)
    assert layer(x).tolist() == [[0, 0]]
    del layer.__dict__["weight"]
    del layer.weight
    with pytest.raises(AttributeError, match="'Own' object has no attribute 'weight'"):
        layer(x)
    layer.register_buffer("weight", t.ones(2, 3))
    assert layer(x).tolist() == [[3, 3]]


def test_another_way_to_attributes_is_seen():
    class Own(nn.Linear):
        pass

    layer, x = Own(3, 2), t.ones(1, 3)
    layer(x)
    Own.__getattr__ = lambda self, name: t.zeros(2, 3) if name == "weight" else t.zeros(2)
    assert layer(x).tolist() == [[0, 0]]


def test_hooks_of_all_modules_are_seen_where_their_table_is_replaced():
    home = nn.modules.module
    layer, x, _ = _layer_and_input()
    kept = home._global_forward_hooks
    home._global_forward_hooks = OrderedDict({0: lambda module, args, output: "hooked"})
    try:
        assert layer(x) == "hooked"
    finally:
        home._global_forward_hooks = kept
    assert isinstance(layer(x), t.Tensor)


def test_a_profiler_sees_forward():
    layer, x, _ = _layer_and_input()
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
    try:
        layer(x)
    finally:
        sys.setprofile(None)
    assert ("call", "forward") in seen


def test_a_traceback_has_the_line_of_forward():
    layer, _, _ = _layer_and_input()
    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        layer(t.ones(1, 7))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("forward", "return F.linear(input, self.weight, self.bias)")


@needs_taeda
def test_traces_note_the_line_of_forward():
    from taeda.fx.operator_trace import make_fx

    layer = t.nn.Linear(2, 2)
    traced = make_fx(layer, record_stack_traces=True)(t.ones(1, 2))
    traces = [n.meta.get("stack_trace", "") for n in traced.graph.nodes if n.op == "call_function"]
    assert any("in forward" in trace and "F.linear" in trace for trace in traces), traces
