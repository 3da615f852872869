"""The compiler of graphs by PyTorch's names: its functions, their arguments, and its settings."""

import pathlib
import re
import unittest

import pytest
from taeda._dynamo.utils import counters
from taeda._functorch.partitioners import default_partition
from taeda._inductor import compile, config, exc
from taeda._inductor.compile_fx import compile_fx, compile_fx_inner
from taeda._inductor.custom_graph_pass import (
    CustomGraphPass,
    CustomInferenceAwareGraphPass,
    CustomPartitionerFn,
    get_hash_for_files,
)
from taeda._inductor.decomposition import decompositions, select_decomp_table
from taeda._inductor.utils import (
    print_performance,
    run_and_get_code,
    run_and_get_cpp_code,
    run_fw_bw_and_get_code,
)
from taeda.functorch.compile import draw_graph, get_aot_graph_name, get_graph_being_compiled
from taeda.fx.aot import aot_function
from taeda.fx.experimental.proxy_tensor import make_fx
from taeda.testing.compiled_cases import TestCase
from taeda.utils import _inert_settings

import taeda as t

X = t.randn(3, 4)


def f(x):
    return (x * 2).sin()


def traced(mode="real"):
    return make_fx(f, tracing_mode=mode)(X)


# ---- functions ----
def test_a_compiler_of_ones_own_inside_of_the_backend():
    seen = []

    def inner(gm, example_inputs, *, is_backward, is_inference):
        seen.append((is_backward, is_inference, config.exact))
        return compile_fx_inner(gm, example_inputs, is_inference=is_inference)

    def backend(gm, example_inputs):
        return compile_fx(gm, example_inputs, inner, config_patches={"exact": True})

    w = t.randn(4, 4, requires_grad=True)
    out = t.compile(lambda x: (x @ w).sin(), backend=backend)(X)
    assert t.equal(out, (X @ w).sin()) and seen == [(False, False, True)]
    (grad,) = t.autograd.grad(out.sum(), w)  # the settings hold for the backward, too
    assert t.equal(grad, t.autograd.grad((X @ w).sin().sum(), w)[0]) and len(seen) == 2
    assert seen[1] == (True, False, True) and not config.exact
    with t.no_grad():
        t.compile(f, backend=backend)(X)
    assert seen[2] == (False, True, True)


@pytest.mark.parametrize("cuts", [False, True])
def test_passes_know_whether_there_are_gradients(cuts):
    told = []

    class Told(CustomInferenceAwareGraphPass):
        def __call__(self, graph, is_inference):
            told.append(is_inference)

        def uuid(self):
            return None

    options = {"post_grad_custom_pre_pass": Told()}
    options |= {"custom_partitioner_fn": Saver()} if cuts else {}
    compiled = t.compile(f, options=options)
    compiled(X.clone().requires_grad_()).sum().backward()
    assert told == [False, False]
    with t.no_grad():
        compiled(X)
    assert told == [False, False, True]


def test_decompositions_of_ones_own_inside_of_the_backend():
    graphs = []

    def inner(gm, example_inputs, **_):
        graphs.append([node.target for node in gm.graph.find_nodes(op="call_function")])
        return gm

    table = {t.ops.aten.sin.default: lambda x: t.cos(x - t.pi / 2)}
    compiled = compile_fx(traced(), [X], inner_compile=inner, decompositions=table)
    t.testing.assert_close(compiled(X), f(X))
    aten = t.ops.aten
    assert graphs == [[aten.mul.Tensor, aten.sub.Tensor, aten.cos.default]]


def test_the_table_of_decompositions():
    table = select_decomp_table()
    assert t.ops.aten.addcmul.default in table and dict(decompositions) == table
    with pytest.raises(TypeError):  # nothing would read what is written there
        decompositions[t.ops.aten.sin.default] = t.sin


def test_options_of_compile():
    def noted(graph):
        seen.append(config.exact)

    seen = []
    compiled = compile(traced(), [X], {"exact": True, "post_grad_custom_pre_pass": noted})
    assert t.equal(compiled(X), f(X)) and seen == [True] and not config.exact
    with pytest.raises(AttributeError, match=r"_inductor\.config\.exactt does not exist"):
        compile(traced(), [X], options={"exactt": True})


@pytest.mark.parametrize("shapes", ["from_graph", "from_tracing_context", "from_example_inputs"])
def test_artifacts(shapes, tmp_path):
    artifact = t._inductor.standalone_compile(traced("symbolic"), [X], dynamic_shapes=shapes)
    assert isinstance(artifact, t._inductor.CompiledArtifact) and t.equal(artifact(X), f(X))
    other = t.randn(5, 4)
    if shapes == "from_example_inputs":
        with pytest.raises(RuntimeError, match="was traced with 3"):
            artifact(other)
    else:
        assert t.equal(artifact(other), f(other))


def test_artifacts_in_files(tmp_path):
    path = str(tmp_path / "artifact")
    t._inductor.standalone_compile(traced(), [X]).save(path=path)
    loaded = t._inductor.CompiledArtifact.load(path=path)
    assert t.equal(loaded(X), f(X))
    with pytest.raises(NotImplementedError, match='format="binary", not'):
        loaded.save(path=path, format="unpacked")
    x = t.randn(3, 4, requires_grad=True)
    with pytest.raises(NotImplementedError, match="an artifact with gradients is not written"):
        t._inductor.standalone_compile(make_fx(f)(x), [x]).save(path=path)


def test_a_package_of_a_module():
    module = t.nn.Linear(4, 2)
    path = t._inductor.aot_compile(module, (X,))
    assert t.allclose(t._inductor.aoti_load_package(path)(X), module(X))


def test_passes_as_objects():
    class Noted(CustomGraphPass):
        def __call__(self, graph):
            raise ValueError("a pass")

        def uuid(self):
            return get_hash_for_files((__file__,))

    assert Noted().uuid() == get_hash_for_files((__file__,)) != get_hash_for_files((), "x")
    with pytest.raises(TypeError, match="abstract"):
        CustomGraphPass()
    with (
        config.patch(post_grad_custom_pre_pass=Noted()),
        pytest.raises(exc.InductorError, match="the pass Noted raised:\nValueError: a pass"),
    ):
        t.compile(f)(X)


class Saver(CustomPartitionerFn):
    """Saves everything, and keeps how many nodes it got."""

    def __init__(self):
        self.counts = []

    def __call__(self, gm, joint_inputs, *, compiler, num_fwd_outputs, **_):
        self.counts.append(len(gm.graph.nodes))
        return default_partition(gm, joint_inputs, num_fwd_outputs=num_fwd_outputs)

    def uuid(self):
        return None


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_cut_of_ones_own(dynamic):
    saver, joint = Saver(), []
    x = X.clone().requires_grad_()
    settings = {"custom_partitioner_fn": saver, "joint_custom_post_pass": lambda g: joint.append(g)}
    compiled = t.compile(lambda v: (v.tanh() * 2).sum(), dynamic=dynamic, options=settings)
    compiled(x).backward()
    t.testing.assert_close(x.grad, 2 * (1 - x.tanh() ** 2).detach())
    assert saver.counts == [len(joint[0].nodes)]
    with t.no_grad():
        compiled(x)
    assert len(saver.counts) == 1 and len(joint) == 2
    gm = make_fx(lambda v: v.tanh() * 2)(X)
    with config.patch(custom_partitioner_fn=saver):
        assert t.equal(compile(gm, [x])(x), gm(x)) and len(saver.counts) == 2


def test_passes_over_whole_programs_run_once():
    seen = []
    passes = ("pre_grad_custom_pass", "joint_custom_pre_pass", "post_grad_custom_pre_pass")
    patches = {name: lambda graph, name=name: seen.append(name) for name in passes}
    aten = t.ops.aten

    def backend(gm, example_inputs):
        table = {aten.tanh.default: lambda v: 2 * (2 * v).sigmoid() - 1}
        return compile_fx(gm, example_inputs, config_patches=patches, decompositions=table)

    x = X.clone().requires_grad_()
    t.compile(lambda v: (v.tanh() * 2).sum(), backend=backend)(x).backward()
    assert seen == [*passes, passes[-1]]


# ---- what was compiled ----
def test_the_code_of_what_was_compiled():
    x = X.clone().requires_grad_()
    compiled = t.compile(lambda v: t.mm(v.tanh(), v.mT) * 2)
    compiled(x)
    for _ in range(2):
        result, code = run_and_get_code(compiled, X)
        assert t.allclose(result, t.mm(X.tanh(), X.mT) * 2)
        assert len(code) == 1 and "td_tanh" in code[0] and "mm" in code[0]
    assert len(run_fw_bw_and_get_code(lambda: compiled(x))[1]) == 2
    assert "td_tanh" in run_and_get_cpp_code(compiled, X)[1]
    assert len(run_and_get_code(lambda: t.compile(f)(X))[1]) == 1
    assert run_and_get_code(f, X)[1] == []


def test_the_time_of_calls_is_printed(capsys):
    assert print_performance(f, (X,), times=2, repeat=3) > 0
    assert float(capsys.readouterr().out) >= 0


def test_the_case_of_compiled_programs():
    class Case(TestCase):
        def runTest(self):
            self.assertEqual(len(counters), 0)
            self.assertEqual(t.compile(f)(X), f(X))
            t.set_grad_enabled(False)
            with self.assertRaises(AssertionError):
                self.assertEqual(X, X + 1)

    counters["here"]["before"] = 1
    result = Case().defaultTestResult()
    unittest.TestSuite([Case()]).run(result)
    assert result.wasSuccessful() and result.testsRun == 1
    assert t.is_grad_enabled() and not counters


def test_errors_of_the_compiler(monkeypatch):
    def fail(graph):
        raise ValueError("a pass")

    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    with (
        config.patch(post_grad_custom_pre_pass=fail),
        pytest.raises(exc.InductorError, match="a pass") as error,
    ):
        t.compile(f)(X)
    assert isinstance(error.value, exc.BackendCompilerFailed)
    assert isinstance(error.value.inner_exception, ValueError)


def test_names_of_graphs_that_are_compiled(tmp_path):
    names = []

    def note(gm, example_inputs):
        names.append((get_graph_being_compiled(), get_aot_graph_name()))
        return gm

    aot_function(f, note)(X)
    assert names == [("inference", "model__inference_0")] and get_graph_being_compiled() == ""
    draw_graph(traced(), tmp_path / "graph")
    draw_graph(traced(), tmp_path / "graph.dot", clear_meta=False)
    assert "sin" in (tmp_path / "graph.svg").read_text() + (tmp_path / "graph.dot").read_text()


# ---- settings ----
def test_groups_of_settings():
    config.cpp.threads = 2
    assert config.cpp.threads == getattr(config, "cpp.threads") == 2
    config.cpp.threads = -1
    with config.patch({"triton.unique_kernel_names": False}):
        assert not config.triton.unique_kernel_names
    assert config.triton.unique_kernel_names and "enabled" in dir(config.trace)
    assert config.get_config_copy()["aot_inductor.metadata"] == config.aot_inductor.metadata
    unknown = (
        lambda: config.cpp.thread,
        lambda: setattr(config.cpp, "thread", 1),
        lambda: config.patch({"cpp.thread": 1}),
    )
    for use in unknown:
        with pytest.raises(AttributeError, match=r"_inductor\.config\.cpp\.thread does not exist"):
            use()
    with pytest.warns(UserWarning, match="trace.enabled has no effect here"):
        config.trace.enabled = True
    config.trace.enabled = False


def test_settings_without_effect_are_documented():
    page = pathlib.Path(__file__).parents[2] / "docs/compiler.md"
    text = page.read_text().partition("## Settings that change nothing")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", text, flags=re.M)
    documented = {reason: set(re.findall("`([^`]+)`", names)) for names, reason in rows}
    known = {}
    for by_reason in (_inert_settings.INDUCTOR, _inert_settings.FUNCTORCH):
        for reason, settings in by_reason.items():
            known.setdefault(reason, set()).update(settings)
    assert documented == known
