"""taeda.export: graphs, signatures, modules, files, and what is refused."""

import contextlib
import copy
import dataclasses
import io
import random
import zipfile

import pytest
from exported_forms import reloaded, same, saved, written_nodes
from taeda._export.wrappers import mark_subclass_constructor_exportable_experimental
from taeda.export._trace import _export as export_private
from taeda.export.graph_signature import InputKind, OutputKind

import taeda
from taeda import nn
from taeda.export import (
    Dim,
    export,
    load,
    register_dataclass,
    save,
)


class Counting(nn.Module):
    """A parameter, a buffer that is written, one that is not saved, and a plain tensor."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("calls", taeda.zeros(()))
        self.register_buffer("shift", taeda.ones(3), persistent=False)
        self.scale = taeda.tensor([1.0, 2.0, 3.0])

    def forward(self, x, *, k=2):
        self.calls.add_(1)
        x.mul_(2)
        out = self.linear(x) * self.scale + self.shift
        return {"out": out * k, "rest": (x.sum(), 3, None)}


def counted():
    taeda.manual_seed(0)
    return Counting()


# ---- the graph and its signature ----


def test_signature():
    traced = export(counted(), (taeda.ones(2, 4),), {"k": 3})
    assert traced.dialect == "TRAINING"
    assert [s.kind for s in traced.graph_signature.output_specs] == [OutputKind.USER_OUTPUT] * 4
    program = traced.run_decompositions({})
    assert program.dialect == "ATEN"
    assert str(program.graph_signature) == GOLDEN_SIGNATURE
    signature = program.graph_signature
    assert signature.parameters == ("linear.weight", "linear.bias")
    assert signature.buffers == ("calls", "shift")
    assert signature.non_persistent_buffers == ("shift",)
    assert signature.user_inputs == ("x", 3)
    assert list(signature.buffers_to_mutate.values()) == ["calls"]
    assert list(signature.user_inputs_to_mutate.values()) == ["x"]
    assert signature.input_specs[0].kind is InputKind.PARAMETER
    assert signature.output_specs[0].kind is OutputKind.BUFFER_MUTATION


GOLDEN_SIGNATURE = """
# inputs
p_linear_weight: PARAMETER target='linear.weight'
p_linear_bias: PARAMETER target='linear.bias'
b_calls: BUFFER target='calls' persistent=True
b_shift: BUFFER target='shift' persistent=False
c_scale: CONSTANT_TENSOR target='scale'
x: USER_INPUT
k: USER_INPUT

# outputs
add: BUFFER_MUTATION target='calls'
mul: USER_INPUT_MUTATION target='x'
mul_2: USER_OUTPUT
sum_1: USER_OUTPUT
: USER_OUTPUT
: USER_OUTPUT
"""


def test_state_and_constants():
    program = export(counted(), (taeda.ones(2, 4),))
    assert list(program.state_dict) == ["linear.weight", "linear.bias", "calls"]
    assert sorted(program.constants) == ["scale", "shift"]
    assert [name for name, _ in program.named_buffers()] == ["calls", "shift"]
    assert len(list(program.parameters())) == 2


def test_writes_to_views_become_functions():
    def f(x):
        y = x.clone()
        y[0] = 5.0
        y[:, 1].add_(x[:, 0])
        return y, y.t().contiguous()

    x = taeda.arange(6.0).reshape(2, 3)
    program = export(f, (x,))
    assert written_nodes(program) == ["fill_", "add_"]
    functional = program.run_decompositions({})
    assert written_nodes(functional) == []
    same(program.module()(x), f(x))
    same(functional.module()(x), f(x))


def test_lowering_keeps_what_a_conversion_rests_on():
    program = export(lambda x: x.to(taeda.float64).sin(), (taeda.ones(3),))
    lowered = program.run_decompositions()
    check = taeda.ops.aten._assert_tensor_metadata.default
    assert len(program.graph.find_nodes(op="call_function", target=check)) == 1
    (node,) = lowered.graph.find_nodes(op="call_function", target=check)
    assert node.args[1:] == (None, None, taeda.float32)
    assert node.kwargs == {"device": taeda.device("cpu"), "layout": taeda.strided}
    assert lowered.module()(taeda.ones(3)).dtype == taeda.float64


def test_assigned_buffers_are_mutations():
    class Assigning(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", taeda.zeros(2))

        def forward(self, x):
            self.last = x + self.last
            return self.last * 2

    module = Assigning()
    program = export(module, (taeda.ones(2),))
    assert written_nodes(program) == ["copy__default"]
    functional = program.run_decompositions()
    assert list(functional.graph_signature.buffers_to_mutate.values()) == ["last"]
    assert module.last.tolist() == [0, 0]
    for each in (program, functional):
        module.last.zero_()
        run = each.module()
        run(taeda.ones(2))
        assert run(taeda.ones(2)).tolist() == [4, 4]


def test_tied_tensors_stay_one():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", taeda.zeros(2))
            self.register_buffer("b", self.a)

        def forward(self, x):
            self.a.add_(x)
            return self.b * 1

    program = export(Tied(), (taeda.ones(2),))
    for again in (program, reloaded(program)):
        run = again.module()
        assert run(taeda.ones(2)).tolist() == [1, 1]
        assert run(taeda.ones(2)).tolist() == [2, 2]
        program.state_dict["a"].zero_()


def test_constants_made_while_tracing_are_inputs():
    program = export(lambda x: x + taeda.tensor([1.0, 2.0]), (taeda.zeros(2),))
    assert list(program.constants) == ["lifted_tensor_0"]
    assert program.module()(taeda.zeros(2)).tolist() == [1, 2]
    assert reloaded(program).module()(taeda.ones(2)).tolist() == [2, 3]
    lowered = program.run_decompositions({})
    targets = [n.target for n in lowered.graph.nodes if n.op == "call_function"]
    assert targets == [taeda.ops.aten.clone.default, taeda.ops.aten.add.Tensor]
    assert lowered.module()(taeda.zeros(2)).tolist() == [1, 2]


def test_the_private_name_of_export():
    written = export_private(lambda x: x.add_(1) * 2, (taeda.zeros(2),), pre_dispatch=True)
    assert written_nodes(written) == ["add_"]
    assert written_nodes(export_private(lambda x: x.add_(1) * 2, (taeda.zeros(2),))) == []


def test_nodes_know_their_lines():
    program = export(counted(), (taeda.ones(2, 4),))
    traces = [n.stack_trace for n in program.graph.nodes if n.op == "call_function"]
    assert any("self.calls.add_(1)" in t for t in traces)


def test_printed_form():
    text = str(export(lambda x: x.relu() + 1, (taeda.zeros(2, 3),)))
    assert text.startswith("ExportedProgram:\n    class GraphModule")
    assert 'relu: "f32[2, 3]" = taeda.ops.aten.relu.default(x)' in text
    assert "Range constraints: {}" in text


# ---- modules ----


def test_module_runs_as_the_original():
    module, program = counted(), export(counted(), (taeda.ones(2, 4),), {"k": 3})
    run = program.module()
    for _ in range(2):
        a, b = taeda.randn(2, 4), None
        b = a.clone()
        same(run(a, k=3), module(b, k=3))
        assert taeda.equal(a, b)
    assert module.calls == program.state_dict["calls"] == 2


def test_module_shares_parameters_and_trains():
    program = export(nn.Linear(3, 1), (taeda.ones(2, 3),))
    run = program.module()
    assert run.weight is program.state_dict["weight"]
    run(taeda.ones(2, 3)).sum().backward()
    assert run.weight.grad.tolist() == [[2, 2, 2]]
    with pytest.raises(NotImplementedError, match=r"Calling eval\(\) is not supported yet"):
        run.eval()


def test_containers_in_and_out():
    def f(pair, table, *rest, scale):
        return [pair[0] + table["a"], (rest[0] * scale["s"],)], rest[1]

    args = ((taeda.ones(2), taeda.zeros(2)), {"a": taeda.ones(2)}, taeda.ones(3), taeda.ones(1))
    kwargs = {"scale": {"s": taeda.tensor(2.0)}}
    program = export(f, args, kwargs)
    names = [s.arg.name for s in program.graph_signature.input_specs]
    assert names == ["pair_0", "pair_1", "table_a", "rest_0", "rest_1", "scale_s"]
    same(program.module()(*args, **kwargs), f(*args, **kwargs))
    same(reloaded(program).module()(*args, **kwargs), f(*args, **kwargs))


@dataclasses.dataclass
class Point:
    x: taeda.Tensor
    y: taeda.Tensor | None = None


register_dataclass(Point)


def test_registered_dataclasses():
    def f(p):
        return Point(p.x * 2)

    program = reloaded(export(f, (Point(taeda.ones(2)),)))
    result = program.module()(Point(taeda.ones(2)))
    assert isinstance(result, Point)
    assert result.x.tolist() == [2, 2] and result.y is None


def test_decompositions():
    def silu(x):
        return x * taeda.sigmoid(x)

    program = export(
        lambda x: nn.functional.silu(x), (taeda.randn(3),), dynamic_shapes=({0: Dim("n")},)
    )
    simpler = program.run_decompositions({taeda.ops.aten.silu.default: silu})
    targets = {str(n.target) for n in simpler.graph.nodes if n.op == "call_function"}
    assert targets == {"aten.sigmoid.default", "aten.mul.Tensor"}
    x = taeda.randn(5)
    assert taeda.allclose(simpler.module()(x), program.module()(x))
    again = reloaded(program).run_decompositions({taeda.ops.aten.silu.default: silu})
    assert taeda.allclose(again.module()(x), program.module()(x))


# ---- files ----


def test_file_round_trip(tmp_path):
    program = export(counted(), (taeda.ones(2, 4),), {"k": 3})
    path = tmp_path / "model.pt2"
    save(program, path, extra_files={"note.txt": "hello"})
    extra = {"note.txt": ""}
    back = load(path, extra_files=extra)
    assert extra == {"note.txt": "hello"}
    assert list(back.state_dict) == ["calls", "linear.bias", "linear.weight"] or set(
        back.state_dict
    ) == set(program.state_dict)
    assert isinstance(back.state_dict["linear.weight"], nn.Parameter)
    assert str(back.graph_signature) == str(program.graph_signature)
    same(back.module()(taeda.ones(2, 4), k=3), program.module()(taeda.ones(2, 4), k=3))
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_above_the_signed_range_survive_files():
    class Fill(nn.Module):
        def forward(self, x):
            return taeda.full((2,), 2**63 + 1, dtype=taeda.uint64), x + 1

    back = reloaded(export(Fill(), (taeda.ones(1),)))
    assert back.module()(taeda.ones(1))[0].tolist() == [2**63 + 1] * 2


def test_python_reads_the_archive():
    archive = zipfile.ZipFile(io.BytesIO(saved(export(nn.Linear(2, 2), (taeda.ones(1, 2),)))))
    assert archive.testzip() is None
    assert archive.read("format") == b"taeda exported program 2"
    assert archive.read("graph").startswith(b"graph(p_weight: f32[2, 2]")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_python_are_read(method):
    program = export(nn.Linear(2, 2), (taeda.ones(1, 2),))
    rewritten = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(saved(program))) as old,
        zipfile.ZipFile(rewritten, "w", method) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    rewritten.seek(0)
    x = taeda.ones(1, 2)
    assert taeda.equal(load(rewritten).module()(x), program.module()(x))


def test_damaged_files_are_refused():
    good = saved(export(nn.Linear(2, 2), (taeda.ones(1, 2),)))
    with pytest.raises(RuntimeError, match="truncated"):
        load(io.BytesIO(good[: len(good) // 2]))
    with pytest.raises(RuntimeError, match="no archive"):
        load(io.BytesIO(b"hello"))
    numbers = random.Random(0)
    for _ in range(300):
        bad = bytearray(good)
        bad[numbers.randrange(len(bad))] = numbers.randrange(256)
        with contextlib.suppress(RuntimeError):
            load(io.BytesIO(bytes(bad)))


def with_entry(archive, name, text):
    """The archive with one entry replaced."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(changed, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, text if entry == name else old.read(entry))
    changed.seek(0)
    return changed


def test_other_versions_and_graphs_are_refused():
    good = saved(export(lambda x: x + 1, (taeda.ones(2),)).run_decompositions())
    with pytest.raises(RuntimeError, match="format version 9, supported are versions 1 to 2"):
        load(with_entry(good, "format", "taeda exported program 9"))
    writing = "graph(x: f32[2]) {\n  add_: f32[2] = aten::add_.Tensor(x, 1)\n  return (add_,)\n}\n"
    with pytest.raises(RuntimeError, match="writes to its argument self"):
        load(with_entry(good, "graph", writing))
    with pytest.raises(RuntimeError, match=r"entry graph of .* is no UTF-8 text"):
        load(with_entry(good, "graph", b"graph(\xd8) {}"))
    unknown = "graph(x: f32[2]) {\n  add = aten::no_such(x)\n  return (add,)\n}\n"
    with pytest.raises(RuntimeError, match="no operator is called aten::no_such"):
        load(with_entry(good, "graph", unknown))


def test_files_of_version_1_are_read():
    """Such files tell neither a dialect nor where nodes come from."""
    program = export(counted(), (taeda.ones(2, 4),), {"k": 3}).run_decompositions()
    old = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(program))) as new, zipfile.ZipFile(old, "w") as archive:
        for entry in new.namelist():
            text = new.read(entry)
            if entry == "format":
                text = b"taeda exported program 1"
            if entry == "signature":
                text = text.replace(b'"dialect": "ATEN",\n', b"")
            if entry not in ("notes/module_calls", "notes/origins", "notes/numbers"):
                archive.writestr(entry, text)
    old.seek(0)
    back = load(old)
    assert back.dialect == "ATEN"
    program.state_dict["calls"].zero_()
    same(back.module()(taeda.ones(2, 4), k=3), program.module()(taeda.ones(2, 4), k=3))


def test_damaged_notes_are_refused():
    good = saved(export(nn.Linear(2, 2), (taeda.ones(1, 2),)))
    for name, text in [
        ("notes/origins", "{"),
        ("notes/origins", '{"nn_module_stack": {"values": [], "nodes": {"linear": 3}}}'),
        ("notes/module_calls", "[[1]]"),
        ("notes/in_spec", "[]"),
    ]:
        with pytest.raises(RuntimeError, match="cannot read the notes of the program"):
            load(with_entry(good, name, text))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.pt2")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


# ---- inputs that do not fit ----


@pytest.mark.parametrize("again", [lambda p: p, reloaded], ids=["traced", "loaded"])
def test_wrong_inputs(again):
    run = again(export(counted(), (taeda.ones(2, 4),), {"k": 3})).module()
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] == 2"):
        run(taeda.ones(3, 4), k=3)
    with pytest.raises(AssertionError, match=r"Guard failed: x\.dim\(\) == 2"):
        run(taeda.ones(4), k=3)
    with pytest.raises(AssertionError, match=r"Guard failed: x\.dtype == torch\.float32"):
        run(taeda.ones(2, 4, dtype=taeda.float64), k=3)
    with pytest.raises(AssertionError, match="Guard failed: k == 3"):
        run(taeda.ones(2, 4), k=4)
    with pytest.raises(ValueError, match="kwarg keyword mismatch"):
        run(taeda.ones(2, 4))
    with pytest.raises(ValueError, match="Trying to flatten user inputs"):
        run(taeda.ones(2, 4), taeda.ones(2, 4), k=3)


def test_wrong_calls_of_export():
    program = export(lambda x: x, (taeda.ones(2),))
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(taeda.ones(2))
    with pytest.raises(RuntimeError, match="Expecting `args` to be a tuple"):
        export(nn.Linear(2, 2), taeda.ones(1, 2))
    with pytest.raises(ValueError, match="Expected `mod` to be an instance of"):
        export(3, ())
    with pytest.raises(ValueError, match="Unsupported input type"):
        export(lambda x: 1, (object(),))
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(nn.Linear(2, 2), io.BytesIO())


@pytest.mark.parametrize("shapes", [None, ({0: Dim("n")},)], ids=["fixed", "dynamic"])
def test_data_dependent_control_flow_names_the_line(shapes):
    def branching(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    with pytest.raises(
        RuntimeError, match=r"(?s)data-dependent.*test_export\.py.*if x\.sum\(\) > 0"
    ):
        export(branching, (taeda.ones(4),), dynamic_shapes=shapes)


class Branching(nn.Module):
    """A branch on values, on a tensor that was written to."""

    def forward(self, x):
        y = x.clone()
        y.mul_(2)
        return taeda.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x - y, (x, y))


def test_control_flow_is_part_of_the_program(tmp_path):
    program = export(Branching(), (taeda.ones(3),))
    assert "true_graph_0 = self.true_graph_0" in program.graph_module.code
    path = tmp_path / "program.pt2"
    save(program, path)
    for module in (program.module(), load(path).module()):
        assert module(taeda.ones(3)).tolist() == [3, 3, 3]
        assert module(-taeda.ones(3)).tolist() == [1, 1, 1]
    assert b"higher_order::cond(gt, graph(" in zipfile.ZipFile(path).read("graph")


def test_control_flow_that_takes_tensors_from_around_it():
    def f(x):
        return taeda.cond(x.sum() > 0, lambda t: t + x, lambda t: t - x, (x * 2,))

    program = export(f, (taeda.ones(3),))
    for module in (program.module(), reloaded(program).module()):
        same(module(taeda.ones(3)), f(taeda.ones(3)))
        same(module(-taeda.ones(3)), f(-taeda.ones(3)))


def test_tensors_kept_in_new_attributes_are_lost_with_a_warning():
    class Keeping(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return x

    module = Keeping()
    with pytest.warns(UserWarning, match=r"self\.last was assigned during export"):
        export(module, (taeda.ones(2),))
    assert not hasattr(module, "last")


EVIL = [
    ("notes/forward_arg_names", b'["x"]', b'["x=print(1)"]'),
    ("notes/forward_arg_names", b'["x"]', b'["lambda"]'),
    ("notes/forward_arg_names", b'["x"]', b'["x", "x"]'),
    ("notes/forward_arg_names", b'["x"]', b"[]"),
    ("notes/forward_arg_names", b'["x"]', b"[5]"),
    ("notes/in_spec", b'"context": "[]"', b'"context": "[\\"k=print(1)\\"]"'),
]


@pytest.mark.parametrize(("member", "old", "new"), EVIL, ids=[str(e[2]) for e in EVIL])
def test_names_in_files_do_not_become_code(member, old, new):
    data = saved(export(lambda x: x + 1, (taeda.ones(2),)))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == member:
                assert old in content
                content = content.replace(old, new)
            target.writestr(name, content)
    changed.seek(0)
    if new == b'["x", "x"]':  # names of arguments that are not there do no harm
        assert load(changed).module()(taeda.ones(2)).tolist() == [2, 2]
        return
    with pytest.raises(RuntimeError, match=r"names that Python allows|cannot read the notes"):
        load(changed)


# ---- programs as objects ----
def test_the_table_of_decompositions_is_a_dict_of_its_own():
    table = taeda.export.default_decompositions()
    assert isinstance(table, taeda.export.CustomDecompTable)
    copied = table.copy()
    del copied[taeda.ops.aten.linear.default]
    assert taeda.ops.aten.linear.default in table
    assert taeda.ops.aten.linear.default not in copied.materialize()


def test_programs_can_be_copied():
    program = export(lambda x: x * 2, (taeda.ones(4),), dynamic_shapes=({0: Dim("n")},))
    copied = copy.deepcopy(program)
    assert copied.module()(taeda.ones(6)).shape == (6,)
    assert str(copied.range_constraints) == str(program.range_constraints)


def test_signatures_follow_renamed_nodes():
    signature = export(lambda x: x.add_(1) * 2, (taeda.ones(4),)).run_decompositions()
    signature = signature.graph_signature
    assert signature.backward_signature is None
    signature.replace_all_uses("mul", "new")
    assert signature.user_outputs == ("new",)


def test_shapes_of_starred_arguments_are_given_together():
    class Sum(nn.Module):
        def forward(self, *args):
            return args[0] + args[1]

    x = taeda.ones(4, 2), 3
    program = export(Sum(), x, dynamic_shapes=(({0: Dim("n")}, None),))
    assert program.module()(taeda.ones(7, 2), 3).shape == (7, 2)


def test_constants_of_a_program_without_arguments():
    outside = taeda.ones(2)

    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("buffer", taeda.ones(2))

        def forward(self):
            return self.buffer + outside

    program = export(Constant(), ())
    assert [s.target for s in program.graph_signature.input_specs] == ["buffer", "lifted_tensor_0"]
    assert taeda.equal(program.module()(), taeda.full((2,), 2.0))


def test_placeholders_of_numbers_and_texts_say_their_value():
    class Divide(nn.Module):
        def forward(self, a, b, mode):
            return taeda.div(a, b, rounding_mode=mode)

    program = export(Divide(), (taeda.ones(2), 2, "trunc"))
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    assert [n.meta["val"] for n in placeholders[1:]] == [2, "trunc"]
    with pytest.raises(AssertionError, match="Guard failed: mode == 'trunc'; got 'floor'"):
        program.module()(taeda.ones(2), 2, "floor")


def test_a_program_may_make_tensors_of_a_class():
    class Pair(taeda.Tensor):
        @staticmethod
        def __new__(cls, a, b):
            return taeda.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)

        @mark_subclass_constructor_exportable_experimental
        def __init__(self, a, b):
            self.a, self.b = a, b

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def of(part):
                return [getattr(x, part) if isinstance(x, cls) else x for x in args]

            return cls(func(*of("a")), func(*of("b")))

    class Sums(nn.Module):
        def forward(self, x):
            pair = Pair(x, x + 1) * 2
            return pair.a + pair.b

    x = taeda.randn(3)
    assert taeda.allclose(export(Sums(), (x,)).module()(x), 4 * x + 2)
    with pytest.raises(RuntimeError, match=r"can only be applied on subclass tensor\.__init__"):
        mark_subclass_constructor_exportable_experimental(lambda: None)


def test_annotations_of_nodes_survive_decompositions():
    program = export(nn.Linear(3, 3), (taeda.ones(3, 3),))
    for node in program.graph.nodes:
        node.meta["custom"] = {"mine": 1}
    assert all(n.meta["custom"] == {"mine": 1} for n in program.run_decompositions().graph.nodes)


# ---- metadata ----
def test_conversions_assert_what_they_convert():
    program = export(lambda x: x.float() + 1, (taeda.ones(2),))
    check, to, _ = (n for n in program.graph.nodes if n.op == "call_function")
    assert check.target is taeda.ops.aten._assert_tensor_metadata.default
    assert check.args == to.args[:1]
    assert check.kwargs == {
        "dtype": taeda.float32,
        "device": taeda.device("cpu"),
        "layout": taeda.strided,
    }
    lowered = program.run_decompositions({})
    targets = [n.target for n in lowered.graph.nodes if n.op == "call_function"]
    assert targets == [check.target, taeda.ops.aten.add.Tensor]
    for form in (program, lowered, reloaded(program), reloaded(lowered)):
        same(form.module()(taeda.ones(2)), taeda.full((2,), 2.0))


def test_a_conversion_to_what_it_is_gives_the_argument_itself():
    program = export(lambda x: x.float().add_(1), (taeda.zeros(2),))
    for form in (program, program.run_decompositions({})):
        x = taeda.zeros(2)
        assert form.module()(x) is x and x.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"size": [2, 4]}, r"sizes mismatch! Expected: \[2, 4\], Got: \[2, 3\]"),
        ({"stride": [1, 1]}, r"strides mismatch! Expected: \[1, 1\], Got: \[3, 1\]"),
        ({"dtype": taeda.float64}, "dtype mismatch!"),
        ({"device": "meta"}, "device mismatch! Expected: meta, Got: cpu"),
        ({"layout": taeda.sparse_coo}, "layout mismatch!"),
    ],
)
def test_asserted_metadata(wanted, message):
    x = taeda.ones(2, 3)
    taeda._assert_tensor_metadata(x, [2, 3], [3, 1], taeda.float32, device="cpu")
    with pytest.raises(RuntimeError, match=f"Tensor {message}"):
        taeda._assert_tensor_metadata(x, **wanted)
