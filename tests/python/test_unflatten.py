"""export.unflatten: the hierarchy of modules, their tensors, calls and signatures."""

import io

import pytest

import taeda
from taeda import nn
from taeda.export import export, load, save, unflatten


class Part(nn.Module):
    """Called with a keyword, calls one of its layers twice, gives a tuple back."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x, *, scale=2):
        return self.norm(self.layer(self.layer(x))) * scale, x


class Model(nn.Module):
    """Modules in a module, in a list, and a buffer that is written."""

    def __init__(self):
        super().__init__()
        self.part = Part()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2), nn.ReLU())])
        self.register_buffer("calls", taeda.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        a, b = self.part(x, scale=3)
        for layer in self.layers:
            a = layer(a)
        return {"a": a, "b": b.sum() + self.calls}


def reloaded(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def check_same(modules, model, x):
    # They may share the buffer.
    model.calls.zero_()
    expected = model(x)
    modules.calls.zero_()
    ours = modules(x)
    assert list(ours) == list(expected)
    for key in ours:
        assert taeda.allclose(ours[key], expected[key], atol=1e-6)
    assert modules.calls == 1


FORMS = {
    "traced": lambda program: program,
    "loaded": reloaded,
    "lowered": lambda program: program.run_decompositions(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("preserved", [(), ("part",), ("part", "layers.1")], ids=str)
def test_hierarchy_and_results(form, preserved):
    model = Model()
    program = export(model, (taeda.randn(3, 4),), preserve_module_call_signature=preserved)
    modules = unflatten(FORMS[form](program))
    assert set(modules.state_dict()) == set(model.state_dict())
    ours = [name for name, _ in modules.named_modules()]
    assert ours == [name for name, _ in model.named_modules()]
    check_same(modules, model, taeda.randn(3, 4))
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] == 3"):
        modules(taeda.randn(2, 4))


def test_tensors_are_copies_of_the_programs():
    program = export(Model(), (taeda.randn(3, 4),))
    modules = unflatten(program)
    weight = program.state_dict["part.layer.weight"]
    assert modules.part.layer.weight is not weight
    assert taeda.equal(modules.part.layer.weight, weight)
    modules(taeda.randn(3, 4))["a"].sum().backward()
    assert modules.part.layer.weight.grad is not None


def test_modules_with_a_kept_signature_are_called_as_before():
    model = Model()
    program = export(model, (taeda.randn(3, 4),), preserve_module_call_signature=("part",))
    entry = next(e for e in program.module_call_graph if e.fqn == "part")
    assert [a.name for a in entry.signature.inputs] == ["x", ""]
    assert len(entry.signature.outputs) == 2
    assert [e.fqn for e in program.module_call_graph][:3] == ["", "part", "part.layer"]
    modules, x = unflatten(program), taeda.randn(3, 4)
    for ours, expected in zip(modules.part(x, scale=3), model.part(x, scale=3), strict=True):
        assert taeda.allclose(ours, expected)
    with pytest.raises(TypeError, match="Input treespec does not match"):
        modules.part(x, x)


def test_modules_can_be_replaced():
    model = Model()
    modules = unflatten(
        export(model, (taeda.randn(3, 4),), preserve_module_call_signature=("part",))
    )

    class Plain(nn.Module):
        def forward(self, x, *, scale):
            return x * scale, x

    modules.part = model.part = Plain()
    check_same(modules, model, taeda.randn(3, 4))


def test_calls_that_differ_are_modules_of_their_own():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(taeda.ones(2))

        def forward(self, x, negate):
            return x * self.weight if negate else x + self.weight

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Branching()

        def forward(self, x):
            return self.inner(self.inner(x, True), False)

    model = Twice()
    modules = unflatten(export(model, (taeda.ones(2),)))
    assert [name for name, _ in modules.named_children()] == ["inner", "inner@1"]
    assert modules.inner.weight is modules.get_submodule("inner@1").weight
    x = taeda.randn(2)
    assert taeda.equal(modules(x), model(x))


def test_tied_parameters_and_tensors_of_others():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.out = nn.Linear(3, 5, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, index):
            return self.out(self.embed(index)) + self.embed.weight.sum()

    model = Tied()
    modules = unflatten(export(model, (taeda.tensor([0, 1]),)))
    assert modules.out.weight is modules.embed.weight
    index = taeda.tensor([2, 4])
    assert taeda.allclose(modules(index), model(index))


def test_unknown_submodules_are_named():
    with pytest.raises(RuntimeError, match=r"preserve_module_call_signature names \['nowhere'\]"):
        export(Model(), (taeda.randn(3, 4),), preserve_module_call_signature=("nowhere",))


def test_scopes_of_modes():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.head = nn.Linear(2, 1)

        def forward(self, x):
            with taeda.no_grad():
                x = self.body(x)
            return self.head(x)

    model = Frozen()
    modules = unflatten(export(model, (taeda.ones(3, 2),)))
    x = taeda.randn(3, 2)
    assert taeda.allclose(modules(x), model(x))
    modules(x).sum().backward()
    assert modules.head.weight.grad is not None
    assert modules.body.get_submodule("0").weight.grad is None


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", taeda.zeros(1))

    def forward(self, x, step):
        self.count.add_(step)
        return x + self.count


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter()

    def forward(self, x):
        x = self.counter(x, 1)
        x = self.counter(x * 2, 2)
        x = self.counter(x * 2, 1)
        return self.counter(x * 2, 2) + self.counter.count


def test_a_buffer_that_several_calls_write_is_one():
    x = taeda.ones(1)
    modules = unflatten(export(Counting(), (x,)))
    assert [name for name, _ in modules.named_children()] == ["counter", "counter@1"]
    assert taeda.equal(modules(x), Counting()(x))
    assert modules.counter.count.item() == 6
    assert modules.counter.type_name().endswith("test_unflatten.Counter")


def test_a_module_that_writes_its_argument_may_be_replaced():
    class Child(nn.Module):
        def forward(self, x):
            x.mul_(2)
            return x - 2

    class Parent(nn.Module):
        def __init__(self):
            super().__init__()
            self.child = Child()

        def forward(self, x):
            return self.child(x) + x * 4

    program = export(Parent(), (taeda.ones(2),), preserve_module_call_signature=("child",))
    modules = unflatten(program)
    assert taeda.equal(modules(taeda.ones(2)), taeda.full((2,), 8.0))
    modules.set_submodule("child", Child())
    assert taeda.equal(modules(taeda.ones(2)), taeda.full((2,), 8.0))
