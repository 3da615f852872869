"""GraphModule: parts, code, copies, files, errors."""

import copy
import importlib
import inspect
import pickle
import subprocess
import sys
import traceback

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
shape_prop = importlib.import_module(f"{NAME}.fx.passes.shape_prop")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scale = nn.Parameter(t.full((4,), 2.0))
        self.register_buffer("shift", t.ones(4))
        self.spare = nn.Linear(1, 1)

    def forward(self, x):
        return self.layers(x) * self.scale + self.shift


def test_printed_form():
    text = str(fx.symbolic_trace(Model()))
    assert text.startswith("Model(\n  (layers): Module(\n    (0): Linear(")
    assert "def forward(self, x):" in text
    assert text.endswith("# To see more debug info, please use `graph_module.print_readable()`")


def test_parts_come_from_a_dict_too():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("a.relu", (graph.call_method("add", (x, graph.get_attr("w"))),)))
    module = fx.GraphModule({"a.relu": nn.ReLU(), "w": t.ones(1)}, graph, "Made")
    assert type(module).__name__ == "Made"
    assert module(t.tensor([-3.0, 1.0])).tolist() == [0, 2]
    assert [name for name, _ in module.named_buffers()] == ["w"]
    with pytest.raises(RuntimeError, match="referenced target w but that target was not provided"):
        fx.GraphModule({"a.relu": nn.ReLU()}, graph)


def test_training_flag_is_kept():
    assert not fx.symbolic_trace(Model().eval()).training
    assert fx.symbolic_trace(Model()).training


def test_edits_take_effect_after_recompile():
    module = fx.symbolic_trace(lambda x: t.relu(x))
    x = t.tensor([-1.0])
    assert module(x).item() == 0
    for node in module.graph.nodes:
        if node.op == "call_function":
            node.target = t.neg
    assert module(x).item() == 0
    module.recompile()
    assert module(x).item() == 1
    assert f"{NAME}.neg" in module.code


def test_each_module_has_its_own_forward():
    first, second = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x + 2)
    assert (first(t.ones(1)).item(), second(t.ones(1)).item()) == (2, 3)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_compute_the_same(copier):
    module = fx.symbolic_trace(Model())
    copied = copier(module)
    x = t.randn(2, 4)
    assert copied.code == module.code
    assert t.equal(copied(x), module(x))
    with t.no_grad():
        copied.scale.zero_()
    assert not t.equal(copied(x), module(x))
    assert copied.graph is not module.graph
    assert isinstance(copied, fx.GraphModule)


def test_copies_of_containers_in_and_out():
    def program(x):
        return {"sum": x["a"] + x["b"]}

    module = fx.symbolic_trace(program, concrete_args={"x": {"a": fx.PH, "b": fx.PH}})
    value = {"a": t.ones(1), "b": t.ones(1)}
    assert copy.deepcopy(module)(value)["sum"].item() == 2


def test_deepcopy_hooks_run():
    module = fx.symbolic_trace(Model())
    seen = []
    module._register_deepcopy_hook(seen.append)
    copied = copy.deepcopy(module)
    assert seen == [copied]


def test_state_dict_round_trip():
    first, second = fx.symbolic_trace(Model()), fx.symbolic_trace(Model())
    second.load_state_dict(first.state_dict())
    x = t.randn(1, 4)
    assert t.equal(first(x), second(x))


def test_submodules_come_and_go():
    module = fx.symbolic_trace(Model())
    assert module.add_submodule("a.b.c", nn.ReLU())
    assert isinstance(module.get_submodule("a.b.c"), nn.ReLU)
    assert not module.delete_submodule("a.nothing")
    module.delete_all_unused_submodules()
    assert {name for name, _ in module.named_modules()} == {"", "layers", "layers.0", "layers.1"}
    assert module.delete_submodule("layers.1")
    assert not hasattr(module.layers, "1")


def test_missing_attributes_warn():
    module = fx.symbolic_trace(Model())
    with pytest.warns(UserWarning, match="no underlying reference in the owning GraphModule"):
        module.graph.get_attr("nothing.here")


def test_readable_form_shows_shapes():
    module = fx.symbolic_trace(Model())
    shape_prop.ShapeProp(module).propagate(t.randn(2, 4))
    text = module.print_readable(print_output=False).replace(NAME, "taeda")
    assert text == (
        "class Model(taeda.nn.Module):\n"
        '    def forward(self, x: "f32[2, 4]"):\n'
        "        # No stacktrace found for following nodes\n"
        '        layers_0: "f32[2, 4]" = getattr(self.layers, "0")(x);  x = None\n'
        '        layers_1: "f32[2, 4]" = getattr(self.layers, "1")(layers_0);  layers_0 = None\n'
        '        scale: "f32[4]" = self.scale\n'
        '        mul: "f32[2, 4]" = layers_1 * scale;  layers_1 = scale = None\n'
        '        shift: "f32[4]" = self.shift\n'
        '        add: "f32[2, 4]" = mul + shift;  mul = shift = None\n'
        "        return add\n"
    )


def test_values_are_freed_after_their_last_use():
    code = fx.symbolic_trace(lambda x: x.sin().cos().tan()).code
    assert "cos = sin.cos();  sin = None" in code


def test_backward_goes_through():
    module = fx.symbolic_trace(Model())
    module(t.ones(1, 4)).sum().backward()
    assert module.scale.grad is not None


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch prints to stderr")
def test_errors_show_the_generated_line():
    module = fx.symbolic_trace(lambda x: x.sin().no_such_method())
    with pytest.raises(AttributeError) as caught:
        module(t.ones(1))
    shown = "".join(traceback.format_exception(caught.value))
    assert "no_such_method = sin.no_such_method()" in shown
    assert "of the traced Module's generated forward function" in shown
    assert "~~~ <--- HERE" in shown


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch compiles at once")
def test_code_is_compiled_at_the_first_call():
    module = fx.symbolic_trace(lambda x: x + 1)
    assert not inspect.isfunction(type(module).__dict__["forward"])
    module(t.ones(1))
    forward = type(module).__dict__["forward"]
    assert forward.__code__.co_filename.startswith("<eval_with_key>")


def test_forward_has_the_signature_of_the_graph():
    module = fx.symbolic_trace(lambda x, y=2: x + y)
    assert list(inspect.signature(module.forward).parameters) == ["x", "y"]
    again = fx.symbolic_trace(module)
    assert again(t.ones(1)).item() == 3


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch writes other files")
def test_to_folder(tmp_path):
    module = fx.symbolic_trace(Model())
    module.to_folder(tmp_path / "written", "Written")
    sys.path.insert(0, str(tmp_path))
    try:
        loaded = importlib.import_module("written").Written()
    finally:
        sys.path.remove(str(tmp_path))
    x = t.randn(2, 4)
    assert t.equal(loaded(x), module(x))


@pytest.mark.skipif(NAME != "taeda", reason="about Taeda's start")
def test_import_does_not_load_fx():
    program = "import sys, taeda; assert 'taeda.fx' not in sys.modules; taeda.fx.Graph"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_module_that_refers_to_itself_is_copied():
    module = fx.symbolic_trace(Model())
    module.meta["me"] = module
    copied = copy.deepcopy(module)
    assert copied is not module and copied.meta["me"] is copied


def test_the_file_of_generated_code_says_what_was_traced():
    file = fx.symbolic_trace(Model()).forward.__code__.co_filename
    line = inspect.getsourcelines(Model.forward)[1]
    assert file.endswith(f"test_fx_graph_module.py:{line} in forward")


def test_lines_of_generated_code_name_their_nodes():
    module = fx.symbolic_trace(lambda a, b: a.sin() + b)
    assert module._prologue_start == 4
    assert {1: 2, 2: 3, 3: 4}.items() <= module._lineno_map.items()
    module.graph.on_generate_code(lambda _: lambda body: ["pass\n", *body])
    module.recompile()
    assert {2: 2, 3: 3, 4: 4}.items() <= module._lineno_map.items()


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch prints the line instead")
def test_an_error_of_generated_code_says_its_line():
    module = fx.symbolic_trace(lambda x: t.dot(x, x) + 1)
    with pytest.raises(TypeError) as caught:
        module(5)
    (note,) = caught.value.__notes__
    assert note.startswith("Call using an FX-traced Module, line 5 of the traced Module's")
    assert "dot = taeda.dot(x, x);  x = None\n~~~~" in note


def test_an_error_of_a_called_module_has_no_line_of_generated_code():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4)))
    with pytest.raises(RuntimeError) as caught:
        module(t.ones(5, 5))
    assert not getattr(caught.value, "__notes__", [])


def test_a_code_generator_may_write_outputs_from_the_value_alone():
    class Listed(fx.CodeGen):
        def generate_output(self, output_args):
            return f"return list({output_args!r})"

    module = fx.symbolic_trace(lambda x: (x, x + 1))
    module.graph.set_codegen(Listed())
    module.recompile()
    assert module(t.ones(1)) == [t.ones(1), t.full((1,), 2.0)]
