"""Tests nn.Module: registration, attributes, traversal, conversion and printing.

What is compared with literals was read off PyTorch; the file passes on it as well.
"""

import pickle

import pytest
from module_samples import REPR, Net, message, names
from under_test import NAME, t

nn = t.nn


# ---- members ----
def test_names_and_order():
    net = Net()
    own = ["scale", "first.weight", "first.bias", "body.1.weight"]
    assert names(net.named_parameters()) == own
    assert names(net.named_parameters(recurse=False)) == ["scale"]
    assert names(net.named_parameters(prefix="net")) == [f"net.{name}" for name in own]
    every = ["scale", "tied", "first.weight", "first.bias", "body.1.weight"]
    every += ["again.weight", "again.bias"]
    assert names(net.named_parameters(remove_duplicate=False)) == every
    assert names(net.named_buffers()) == ["mean", "scratch"]
    assert names(net.named_modules()) == ["", "first", "body", "body.0", "body.1"]
    assert names(net.named_modules(remove_duplicate=False))[-1] == "again"
    assert names(net.named_children()) == ["first", "body"]
    assert len(list(net.parameters())) == 4 and len(list(net.buffers())) == 2
    assert [type(m).__name__ for m in net.children()] == ["Linear", "Sequential"]
    assert len(list(net.modules())) == 5


def test_repr_and_dir():
    net = Net()
    assert repr(net) == REPR
    assert {"first", "scale", "mean", "forward", "hidden", "absent"} <= set(dir(net))
    assert "0" not in dir(net.body)


REPRS = {
    "ReLU(inplace=True)": lambda: nn.ReLU(True),
    "GELU(approximate='tanh')": lambda: nn.GELU("tanh"),
    "SiLU()": lambda: nn.SiLU(),
    "Softmax(dim=-1)": lambda: nn.Softmax(-1),
    "LogSoftmax(dim=None)": lambda: nn.LogSoftmax(),
    "Dropout(p=0.1, inplace=True)": lambda: nn.Dropout(0.1, True),
    "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)": lambda: nn.LayerNorm(
        3, bias=False
    ),
    "Embedding(3, 4, padding_idx=2, max_norm=2.0, norm_type=3.0, scale_grad_by_freq=True, "
    "sparse=True)": lambda: nn.Embedding(3, 4, -1, 2.0, 3.0, True, True),
    "Embedding(3, 4)": lambda: nn.Embedding(3, 4),
    "CrossEntropyLoss()": lambda: nn.CrossEntropyLoss(),
    "Flatten(start_dim=1, end_dim=-1)": lambda: nn.Flatten(),
    "Unflatten(dim=1, unflattened_size=(2, 3))": lambda: nn.Unflatten(1, (2, 3)),
    "Identity()": lambda: nn.Identity(3, a=1),
    "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)": lambda: nn.ModuleList(
        [nn.ReLU(), nn.ReLU(), nn.Tanh()]
    ),
    "ModuleDict(\n  (a): ReLU()\n)": lambda: nn.ModuleDict({"a": nn.ReLU()}),
    "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n"
    "    (1): Object of type: int\n)": lambda: nn.ParameterList([t.ones(2, 3), 3]),
    "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2]\n"
    "    (b): Object of type: int\n)": lambda: nn.ParameterDict({"b": 3, "a": t.ones(2)}),
    "Sequential()": lambda: nn.Sequential(),
    "ModuleList()": lambda: nn.ModuleList(),
    "ParameterList()": lambda: nn.ParameterList(),
}


@pytest.mark.parametrize("text", REPRS, ids=lambda text: text.split("(")[0])
def test_reprs(text):
    assert repr(REPRS[text]()) == text


def test_extra_repr_of_several_lines():
    class Lines(nn.Sequential):
        def extra_repr(self):
            return "a=1\nb=2"

    assert repr(Lines(nn.Tanh())) == "Lines(\n  a=1\n  b=2\n  (0): Tanh()\n)"
    assert repr(Lines()) == "Lines(\n  a=1\n  b=2\n)"


# ---- attributes ----
def test_assignment_registers_and_replaces():
    net = Net()
    net.hidden = nn.Parameter(t.ones(1))
    assert "hidden" in net._parameters and "hidden" not in net.__dict__
    net.scale = None
    assert net.scale is None and names(net.named_parameters(recurse=False)) == ["tied", "hidden"]
    net.mean = t.ones(4)
    assert net._buffers["mean"] is net.mean
    net.mean = nn.Parameter(t.ones(2))
    assert "mean" in net._parameters and "mean" not in net._buffers
    net.first = None
    assert net.first is None and "first" in net._modules
    net.number = 3
    assert net.__dict__["number"] == 3
    net.number = nn.ReLU()
    assert "number" in net._modules and "number" not in net.__dict__
    del net.number
    assert not hasattr(net, "number")
    del net.scratch
    assert "scratch" not in net._non_persistent_buffers_set


def test_buffer_class_registers():
    module = nn.Module()
    module.kept = nn.Buffer(t.ones(2))
    module.dropped = nn.Buffer(t.ones(2), persistent=False)
    assert names(module.named_buffers()) == ["kept", "dropped"]
    assert list(module.state_dict()) == ["kept"]
    module.dropped = t.zeros(3)
    assert list(module.state_dict()) == ["kept"]


def test_subclass_tensor_may_be_a_parameter():
    parameter = nn.Parameter(t.ones(2))
    assert isinstance(parameter, nn.Parameter) and not isinstance(t.ones(2), nn.Parameter)

    class Own(nn.Parameter):
        pass

    module = nn.Module()
    module.p = Own(t.ones(2))
    assert type(module.p) is Own and names(module.named_parameters()) == ["p"]
    assert not isinstance(parameter, Own)


class NoInit(nn.Module):
    def __init__(self, value):
        self.member = value


ERRORS = [
    (lambda n: setattr(n, "scale", t.ones(2)), TypeError, "cannot assign 'torch.FloatTensor' as parameter 'scale' (nn.Parameter or None expected)"),
    (lambda n: setattr(n, "scale", nn.ReLU()), TypeError, "cannot assign 'nn.modules.activation.ReLU' as parameter 'scale' (nn.Parameter or None expected)"),
    (lambda n: setattr(n, "first", 3), TypeError, "cannot assign 'int' as child module 'first' (nn.Module or None expected)"),
    (lambda n: setattr(n, "mean", 3), TypeError, "cannot assign 'int' as buffer 'mean' (nn.Buffer, torch.Tensor or None expected)"),
    (lambda n: n.missing, AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda n: delattr(n, "missing"), AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda n: n.register_parameter("q", t.ones(2)), TypeError, "cannot assign 'torch.FloatTensor' object to parameter 'q' (nn.Parameter or None required)"),
    (lambda n: n.register_parameter(3, None), TypeError, "parameter name should be a string. Got int"),
    (lambda n: n.register_parameter("a.b", None), KeyError, "'parameter name can\\'t contain \".\"'"),
    (lambda n: n.register_parameter("", None), KeyError, "'parameter name can\\'t be empty string \"\"'"),
    (lambda n: n.register_parameter("train", None), KeyError, "\"attribute 'train' already exists\""),
    (lambda n: n.register_buffer("first", None), KeyError, "\"attribute 'first' already exists\""),
    (lambda n: n.register_buffer("b", [1]), TypeError, "cannot assign 'list' object to buffer 'b' (torch Tensor or None required)"),
    (lambda n: n.register_buffer("a.b", None), KeyError, "'buffer name can\\'t contain \".\"'"),
    (lambda n: n.add_module("x", 3), TypeError, "int is not a Module subclass"),
    (lambda n: n.add_module("a.b", nn.ReLU()), KeyError, "'module name can\\'t contain \".\", got: a.b'"),
    (lambda n: n.add_module("", nn.ReLU()), KeyError, "'module name can\\'t be empty string \"\"'"),
    (lambda n: n.add_module(3, nn.ReLU()), TypeError, "module name should be a string. Got int"),
    (lambda n: n.train(3), ValueError, "training mode is expected to be boolean"),
    (lambda n: n.to(t.int64), TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64"),
    (lambda n: n.get_submodule("body.7"), AttributeError, "Sequential has no attribute `7`"),
    (lambda n: n.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
    (lambda n: n.get_parameter("first.in_features"), AttributeError, "`in_features` is not an nn.Parameter"),
    (lambda n: n.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
    (lambda n: n.set_submodule("", n), ValueError, "Cannot set the submodule without a target name!"),
    (lambda n: n.set_submodule("new", nn.ReLU(), strict=True), AttributeError, "Net has no attribute `new`"),
    (lambda n: n.set_submodule("scale", nn.ReLU()), AttributeError, "`scale` is not an nn.Module"),
    (lambda n: n.load_state_dict([1]), TypeError, "Expected state_dict to be dict-like, got <class 'list'>."),
    (lambda n: nn.Module()(3), NotImplementedError, 'Module [Module] is missing the required "forward" function'),
    (lambda n: nn.Module(3), TypeError, "Module.__init__() takes 1 positional argument but 2 were given"),
    (lambda n: nn.Module(a=3), TypeError, "Module.__init__() got an unexpected keyword argument 'a'"),
    (lambda n: NoInit(nn.Parameter(t.ones(1))), AttributeError, "cannot assign parameters before Module.__init__() call"),
    (lambda n: NoInit(nn.ReLU()), AttributeError, "cannot assign module before Module.__init__() call"),
    (lambda n: n.register_full_backward_hook(print) and n.register_backward_hook(print), RuntimeError, "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=[f"{i}" for i in range(len(ERRORS))])
def test_errors(case):
    call, kind, text = case
    with pytest.raises(kind) as error:
        call(Net())
    assert type(error.value) is kind and message(error) == text


def test_parameter_must_be_a_leaf():
    class Kept(nn.Parameter):
        pass

    parameter = Kept(t.ones(2))
    parameter.requires_grad_(False).mul_(t.ones(2, requires_grad=True))
    assert parameter.grad_fn is not None
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'p'"):
        nn.Module().register_parameter("p", parameter)


def test_paths():
    net = Net()
    assert net.get_submodule("") is net and net.get_submodule("body.1") is net.body[1]
    assert net.get_parameter("body.1.weight") is net.body[1].weight
    assert net.get_buffer("mean") is net.mean
    net.set_submodule("body.1", nn.Identity())
    assert isinstance(net.body[1], nn.Identity)
    net.set_submodule("fresh", nn.Tanh())
    assert isinstance(net.fresh, nn.Tanh)


def test_registration_hooks_of_all_modules():
    from importlib import import_module

    functions = import_module(f"{NAME}.nn.modules.module")
    seen = []

    def on_parameter(module, name, parameter):
        seen.append(name)
        return nn.Parameter(t.zeros(2)) if name == "p" else None

    handles = [
        functions.register_module_parameter_registration_hook(on_parameter),
        functions.register_module_buffer_registration_hook(lambda m, n, b: seen.append(n)),
        functions.register_module_module_registration_hook(lambda m, n, c: seen.append(n)),
    ]
    try:
        module = nn.Module()
        module.p = nn.Parameter(t.ones(2))
        module.register_buffer("b", t.ones(1))
        module.child = nn.ReLU()
        module.add_module("other", nn.ReLU())
    finally:
        for handle in handles:
            handle.remove()
    module.q = nn.Parameter(t.ones(2))
    assert seen == ["p", "b", "child", "other"] and module.p.tolist() == [0, 0]


def test_call_super_init():
    class Mixin:
        def __init__(self, value):
            super().__init__()
            self.value = value

    class Both(nn.Module, Mixin):
        call_super_init = True

    assert Both(3).value == 3


# ---- modes and conversion ----
def test_train_eval_apply_requires_grad():
    net = Net()
    assert net.eval() is net and not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    order = []
    assert net.apply(lambda m: order.append(type(m).__name__)) is net
    assert order == ["Linear", "ReLU", "Linear", "Sequential", "Net"]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad():
    net = Net()
    net(t.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_conversion_keeps_parameters_and_converts_gradients():
    net = Net()
    net.register_buffer("count", t.tensor(3))
    net(t.ones(2, 3)).sum().backward()
    before, gradient = net.first.weight, net.first.weight.grad
    assert net.double() is net
    assert net.first.weight is before and before.dtype == before.grad.dtype == t.float64
    assert before.grad is gradient and before.is_leaf and before.requires_grad
    assert net.mean.dtype == t.float64 and net.count.dtype == t.int64
    assert net.tied is net.scale
    assert net(t.ones(2, 3, dtype=t.float64)).dtype == t.float64
    for dtype, convert in [
        (t.float16, net.half),
        (t.bfloat16, net.bfloat16),
        (t.float32, net.float),
        (t.float64, lambda: net.to(t.float64)),
        (t.float16, lambda: net.to("cpu", t.float16)),
        (t.float32, lambda: net.to(dtype=t.float32, device="cpu")),
        (t.float64, lambda: net.to(t.ones(1, dtype=t.float64))),
        (t.float64, lambda: net.to()),
        (t.float64, net.cpu),
        (t.float32, lambda: net.type(t.float32)),
    ]:
        convert()
        assert {p.dtype for p in net.parameters()} == {dtype}
    assert net.count.dtype == t.float32


def test_methods_are_those_of_module():
    layer = nn.Linear(2, 2)
    for call, name in ((layer.to_empty, "to_empty"), (layer.apply, "apply")):
        with pytest.raises(TypeError, match=rf"^Module.{name}\(\) missing"):
            call()
    assert pickle.loads(pickle.dumps(nn.Module.float)) is nn.Module.float
    for kind in ("xpu", "ipu", "mtia"):
        with pytest.raises((AssertionError, RuntimeError), match=f"(?i){kind}"):
            getattr(layer, kind)()


def test_meta_and_to_empty():
    layer = nn.Linear(2, 3, device="meta")
    assert layer.weight.is_meta
    with pytest.raises(
        NotImplementedError,
        match=r"Cannot copy out of meta tensor; no data! Please use .*to_empty\(\)",
    ):
        layer.to("cpu")
    layer.to_empty(device="cpu")
    assert not layer.weight.is_meta and isinstance(layer.weight, nn.Parameter)
    assert layer.weight.shape == (3, 2) and layer.weight.requires_grad
    layer.to("meta")
    assert layer.bias.is_meta and layer.bias.requires_grad


def test_complex_dtype_warns():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        nn.Linear(2, 2).to(t.complex64)
