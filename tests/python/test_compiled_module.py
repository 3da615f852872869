"""A compiled module is PyTorch's OptimizedModule: names, attributes, copies and files."""

import copy
import importlib
import io
import pickle
from collections import OrderedDict

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
OptimizedModule = importlib.import_module(f"{NAME}._dynamo").OptimizedModule

X = t.linspace(-1, 1, 6).reshape(3, 2)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.dropout = nn.Dropout(0.5)
        self.by = 3

    def forward(self, x):
        return self.dropout(self.linear(x)) * self.by

    def twice(self):
        return 2 * self.by


def made():
    model = Model()
    return model, t.compile(model, backend="eager")


def test_names_and_classes():
    model, compiled = made()
    assert type(compiled) is OptimizedModule and isinstance(compiled, nn.Module)
    assert not isinstance(compiled, Model) and isinstance(compiled._orig_mod, Model)
    names = ["_orig_mod.linear.weight", "_orig_mod.linear.bias"]
    assert list(compiled.state_dict()) == names
    assert [name for name, _ in compiled.named_parameters()] == names
    assert [name for name, _ in compiled.named_modules()][:2] == ["", "_orig_mod"]
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Model(\n")
    assert {"linear", "twice", "_orig_mod"} <= set(dir(compiled))


def test_attributes_are_the_modules():
    model, compiled = made()
    assert compiled.by == 3 and compiled.linear is model.linear and compiled.twice() == 6
    compiled.by = 4
    assert model.by == 4 and "by" not in compiled.__dict__
    compiled.extra = nn.Linear(1, 1)
    assert model.extra is compiled.extra and "extra" in model._modules
    del compiled.extra
    assert not hasattr(model, "extra")
    del compiled.by
    assert not hasattr(model, "by")
    with pytest.raises(AttributeError, match="by"):
        compiled.by  # noqa: B018
    with pytest.raises(TypeError, match=r"Model does not support len\(\)"):
        len(compiled)
    assert len(t.compile(nn.Sequential(nn.ReLU()), backend="eager")) == 1


def test_modes_are_the_modules():
    model, compiled = made()
    assert compiled.eval() is compiled
    assert not model.training and not model.dropout.training and not compiled.training
    assert t.equal(compiled(X), model(X))
    model.train()
    assert compiled.training and "training" not in compiled.__dict__
    compiled.double()
    assert model.linear.weight.dtype == t.float64


def test_copies_are_compiled_and_apart():
    model, compiled = made()
    compiled.eval()
    copied = copy.deepcopy(compiled)
    assert type(copied) is OptimizedModule and copied.linear is not model.linear
    assert t.equal(copied(X), compiled(X))
    copied.by = 7
    assert model.by == 3 and not t.equal(copied(X), compiled(X))


def test_files():
    model, compiled = made()
    compiled.eval()
    again = pickle.loads(pickle.dumps(compiled))
    assert type(again) is OptimizedModule and t.equal(again(X), compiled(X))
    file = io.BytesIO()
    t.save(compiled.state_dict(), file)
    file.seek(0)
    other = t.compile(Model(), backend="eager").eval()
    assert str(other.load_state_dict(t.load(file))) == "<All keys matched successfully>"
    assert t.equal(other(X), compiled(X))
    model.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in other.state_dict().items()})


def test_hooks_of_both_run():
    model, compiled = made()
    compiled.eval()
    seen = []
    model.register_forward_hook(lambda *_: seen.append("inner"))
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    compiled(X)
    compiled(X)
    assert seen == ["inner", "outer"] * 2 or seen.count("outer") == 2


def test_a_compiled_module_inside_of_another():
    inner = t.compile(nn.Linear(2, 2), backend="eager")
    outer = nn.Sequential(inner, nn.ReLU())
    expected = outer(X)
    assert t.equal(t.compile(outer, backend="eager")(X), expected)
    assert list(outer.state_dict()) == ["0._orig_mod.weight", "0._orig_mod.bias"]


def test_lazy_modules_are_made_at_the_first_call():
    lazy = nn.LazyLinear(4)
    compiled = t.compile(lazy, backend="eager")
    assert compiled(X).shape == (3, 4) and lazy.weight.shape == (4, 2)
    assert t.equal(compiled(X), lazy(X))


def test_warnings_of_global_hooks():
    _, compiled = made()
    hooks = importlib.import_module(f"{NAME}.nn.modules.module")
    handle = hooks.register_module_forward_hook(lambda *_: None)
    try:
        with pytest.warns(UserWarning, match="global hooks"):
            compiled(X)
    finally:
        handle.remove()


def test_warnings_of_global_hooks_in_another_table():
    home = t.nn.modules.module
    compiled, kept = t.compile(t.nn.Identity(), backend="eager"), home._global_forward_hooks
    home._global_forward_hooks = OrderedDict({0: lambda *_: None})
    try:
        with pytest.warns(UserWarning, match="global hooks on modules"):
            compiled(t.ones(2))
    finally:
        home._global_forward_hooks = kept


def test_a_module_that_knows_no_other_names():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = {"scale": 3}

        def __getattr__(self, name):
            return vars(self)["table"][name]

        def forward(self, x):
            return x * self.scale

    compiled = t.compile(Named(), backend="eager")
    assert compiled.scale == 3 and t.equal(compiled(t.ones(2)), t.full((2,), 3.0))
