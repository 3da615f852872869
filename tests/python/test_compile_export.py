"""taeda._dynamo.export and strict exports: one graph with the program's own arguments."""

import copy
import importlib
from typing import NamedTuple

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
dynamo = importlib.import_module(f"{NAME}._dynamo")
export = importlib.import_module(f"{NAME}.export").export

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="asks for Taeda's own answers, too")

X = t.linspace(-1, 1, 6).reshape(2, 3)


class Pair(NamedTuple):
    first: object
    second: object


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("shift", t.full((3,), 2.0))

    def forward(self, x, *, scale=1.0):
        return {"y": self.linear(x) * scale, "shift": self.shift, "n": x.size(0)}


def test_the_graph_has_the_functions_arguments_and_results():
    def program(x, pair, extra=None):
        return Pair(x + pair["a"], [pair["b"] * 2, x, "text", 3])

    args = (X, {"a": X * 2, "b": X * 3})
    result = dynamo.export(program)(*args)
    gm, guards = result
    assert gm is result.graph_module and any(guard.name == "L['x']" for guard in guards)
    for values in (args, (t.ones(4, 3), {"a": t.zeros(4, 3), "b": t.ones(4, 3)})):
        out, expected = gm(*values), program(*values)
        assert isinstance(out, Pair) and t.equal(out.first, expected.first)
        assert t.equal(out.second[0], expected.second[0]) and out.second[1] is values[0]
        assert out.second[2:] == ["text", 3]
    assert "x, pair" in gm.code.splitlines()[-0 or 0] or "x, pair" in gm.code


def test_a_module_keeps_its_state_by_name():
    model = Model()
    gm, _ = dynamo.export(model, X, scale=2.0)
    out = gm(X, scale=2.0)
    assert t.equal(out["y"], model(X, scale=2.0)["y"]) and out["n"] == 2
    names = gm.meta["dynamo_flat_name_to_original_fqn"]
    assert names == {
        "L__self___linear_weight": "linear.weight",
        "L__self___linear_bias": "linear.bias",
        "L__self___shift": "shift",
    }
    assert {names[name] for name, _ in gm.named_parameters()} == {"linear.weight", "linear.bias"}
    assert gm.L__self___linear_weight is model.linear.weight
    assert out["shift"] is model.shift
    assert gm(t.ones(5, 3), scale=2.0)["n"] == 5


def test_state_whose_names_meet_is_told_apart():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Module()
            self.a.b_c = nn.Parameter(t.ones(2))
            self.a_b = nn.Module()
            self.a_b.c = nn.Parameter(t.full((2,), 2.0))

        def forward(self, x):
            return x * self.a.b_c - self.a_b.c

    gm, _ = dynamo.export(Twice())(t.ones(2))
    assert gm(t.ones(2)).tolist() == [-1, -1]
    assert sorted(gm.meta["dynamo_flat_name_to_original_fqn"].values()) == ["a.b_c", "a_b.c"]


def test_static_sizes_and_operators():
    gm, guards = dynamo.export(lambda x: x.relu() * x.size(0), assume_static_by_default=True)(X)
    assert t.equal(gm(X), X.relu() * 2) and any("(2, 3)" in guard.text for guard in guards)
    aten, _ = dynamo.export(lambda x: x.relu() * x.size(0), aten_graph=True)(X)
    targets = [n.target for n in aten.graph.nodes if n.op == "call_function"]
    assert t.ops.aten.relu.default in targets
    for x in (X, t.ones(5, 3)):
        assert t.equal(aten(x), x.relu() * x.size(0))
    with pytest.raises(AssertionError, match="without setting aten_graph=True"):
        dynamo.export(lambda x: x, decomposition_table={})
    with pytest.raises(AssertionError, match="tracing_mode"):
        dynamo.export(lambda x: x, tracing_mode="odd")


def test_writes_to_tensors_stay_in_the_graph():
    def program(x):
        x.add_(1)
        return x * 2

    x = t.ones(3)
    gm, _ = dynamo.export(program)(x)
    assert t.equal(x, t.ones(3))  # the export itself writes nothing
    y = t.ones(3)
    assert t.equal(gm(y), t.full((3,), 4.0)) and t.equal(y, t.full((3,), 2.0))


def test_arguments_that_were_equal_need_not_be():
    gm, _ = dynamo.export(lambda x, y: x - y)(X, X)
    assert t.equal(gm(X, X * 3), X - X * 3)


def test_a_program_without_operations():
    gm, _ = dynamo.export(lambda x, y: (y, x, 7))(X, X + 1)
    a, b = t.ones(1), t.ones(2)
    out = gm(a, b)
    assert out[0] is b and out[1] is a and out[2] == 7
    with pytest.raises(AssertionError, match="no tensor operations were found"):
        dynamo.export(lambda x: x, same_signature=False)(X)


def test_breaks_name_the_line():
    def noisy(x):
        y = x + 1
        dir()
        return y

    for make in (lambda: dynamo.export(noisy)(X), lambda: export(noisy, (X,), strict=True)):
        with pytest.raises(dynamo.exc.Unsupported, match="call of dir") as caught:
            make()
        line = noisy.__code__.co_firstlineno + 2
        assert f"line {line}, in noisy" in str(caught.value)
        assert "dir()" in str(caught.value)


def test_strict_exports_are_those_of_the_capture():
    model = Model()
    batch = importlib.import_module(f"{NAME}.export").Dim("batch")
    program = export(
        model, (X,), {"scale": 2.0}, dynamic_shapes={"x": {0: batch}, "scale": None}, strict=True
    )
    out = program.module()(t.ones(5, 3), scale=2.0)
    assert t.allclose(out["y"], model(t.ones(5, 3), scale=2.0)["y"]) and out["n"] == 5
    assert set(program.state_dict) == {"linear.weight", "linear.bias", "shift"}
    assert program.graph_signature.parameters == ["linear.weight", "linear.bias"] or set(
        program.graph_signature.parameters
    ) == {"linear.weight", "linear.bias"}


def test_strict_exports_write_buffers():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", t.zeros(()))
            self.register_buffer("last", t.zeros(2, 3))

        def forward(self, x):
            self.count.add_(1)
            self.last = x * 2
            return x + self.count

    model = Counting()
    program = export(model, (X,), strict=True)
    assert model.count.item() == 0 and t.equal(model.last, t.zeros(2, 3))
    module = program.module()
    assert t.equal(module(X), X + 1) and t.equal(module(X), X + 2)
    assert t.equal(module.last, X * 2)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Model()
        self.calls, self.seen, self.by_name, self.kinds = 0, [], {}, set()
        self.register_buffer("steps", t.zeros(()))

    def forward(self, x):
        self.calls += 1
        self.inner.last = x
        self.seen.append(self.calls)
        self.by_name["x"] = x.size(0)
        self.kinds.add("x")
        self.steps = self.steps + 1
        return self.inner(x)["y"] + self.calls + self.steps


def test_strict_exports_leave_attributes_as_they_were():
    model = Counting()
    exported = export(model, (X,), strict=True)
    assert model.calls == 0 and model.seen == [] and not hasattr(model.inner, "last")
    assert model.by_name == {} and model.kinds == set() and model.steps == 0
    expected = copy.deepcopy(model)(X)
    assert t.allclose(exported.module()(X), expected)


def test_a_strict_export_that_fails_leaves_attributes_as_they_were():
    class Failing(Counting):
        def forward(self, x):
            self.calls += 1
            t._dynamo.graph_break()
            return x

    model = Failing()
    with pytest.raises(dynamo.exc.Unsupported):
        export(model, (X,), strict=True)
    assert model.calls == 0


def test_exports_capture_under_every_stance():
    class Writing(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", t.zeros(()))

        def forward(self, x):
            self.steps.add_(1)
            return x + self.steps if x.size(0) == 2 else x

    kinds = []
    for stance in ("default", "force_eager", "fail_on_recompile"):
        with t.compiler.set_stance(stance):
            exported = export(Writing(), (X,), strict=True)
            with pytest.raises(dynamo.exc.Unsupported):
                dynamo.export(lambda x: x + 1 if x.sum() > 0 else x)(X)
        kinds.append([node.target for node in exported.graph.nodes if node.op == "call_function"])
    assert kinds[0] == kinds[1] == kinds[2] and len(kinds[0]) >= 2


def test_strict_exports_have_hooks_of_the_module_once():
    model = t.nn.Linear(3, 3)
    model.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    model.register_forward_hook(lambda module, args, result: result * 10)
    exported = export(model, (X,), strict=True).module()
    assert t.allclose(exported(X), model(X))
    assert len(model._forward_hooks) == len(model._forward_pre_hooks) == 1


class Cast(t.nn.Module):
    def forward(self, x):
        with t.no_grad():
            y = x * 2
        with t.autocast("cpu", dtype=t.bfloat16):
            z = y @ y.T
            with t.autocast("cpu", enabled=False):
                w = x @ x.T
        return z, w, x @ x.T


def test_strict_exports_keep_scopes_of_autocast():
    exported = export(Cast(), (X,), strict=True).module()
    for result, plain in zip(exported(X), Cast()(X), strict=True):
        assert result.dtype == plain.dtype
        assert t.equal(result, plain)


def test_scopes_of_an_exported_graph_put_back_what_they_found():
    graph = dynamo.export(Cast())(X).graph_module
    names = [node.target.__name__ for node in graph.graph.nodes if "autocast" in node.name]
    assert names == ["_enter_autocast", "_enter_autocast", "_exit_autocast", "_exit_autocast"]
    with t.autocast("cpu", dtype=t.float16):
        results = graph(X)
        assert t.is_autocast_enabled("cpu")
        assert t.get_autocast_dtype("cpu") is t.float16
    assert [r.dtype for r in results] == [t.bfloat16, t.float32, t.float16]
    assert not t.is_autocast_enabled("cpu")


def test_what_hangs_on_arguments_is_noted_where_the_graph_reads_them():
    read, unread = X.clone(), X.clone()
    read.tag, unread.tag = "read", "unread"
    gm = dynamo.export(lambda a, b: a + 1)(read, unread).graph_module
    first, second = gm.graph.find_nodes(op="placeholder")
    assert first.meta["tensor_dict"] == {"tag": "read"} and "tensor_dict" not in second.meta
    read.tag = "later"
    assert first.meta["tensor_dict"] == {"tag": "read"}
