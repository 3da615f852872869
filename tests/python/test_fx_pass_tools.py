"""Tools for writers of passes: sources of nodes, named patterns, observers, fake values, paths."""

import importlib

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


def tool(name):
    return importlib.import_module(f"{NAME}.fx.{name}")


def test_nodes_by_source():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)))
    for number, node in enumerate(module.graph.nodes):
        if node.op == "call_module":
            kind = type(module.get_submodule(node.target))
            node.meta["source_fn_stack"] = [(f"call_{number}", kind)]
    sources = tool("passes.utils.source_matcher_utils")
    found = sources.get_source_partitions(module.graph, [nn.Linear, nn.ReLU])
    first, second = found[nn.Linear]
    (relu,) = found[nn.ReLU]
    assert [n.name for n in first.nodes] == ["_0"] and first.output_nodes == first.nodes
    assert [n.name for n in relu.input_nodes] == ["_0"]
    assert sources.check_subgraphs_connected(first, relu)
    assert not sources.check_subgraphs_connected(first, second)
    only = sources.get_source_partitions(module.graph, [nn.Linear], lambda n: n.name == "_2")
    assert [p.nodes[0].name for p in only[nn.Linear]] == ["_2"]


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch takes exported patterns only")
def test_patterns_with_names():
    def pattern(x, w):
        product = x @ w
        result = t.relu(product)
        return result, {"product": product, "result": result}

    cls = tool("passes.utils.matcher_with_name_node_map_utils").SubgraphMatcherWithNameNodeMap
    matcher = cls(fx.symbolic_trace(pattern))
    graph = fx.symbolic_trace(lambda a, b: t.relu(a @ b).sum()).graph
    (match,) = matcher.match(graph)
    assert {k: n.name for k, n in match.name_node_map.items()} == {
        "product": "matmul",
        "result": "relu",
    }


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's observer also tracks where nodes come from")
def test_observer(tmp_path):
    module = fx.symbolic_trace(lambda x: t.relu(x))

    def rewrite(graph):
        relu = next(n for n in graph.nodes if n.name == "relu")
        with graph.inserting_after(relu):
            new = graph.call_function(t.tanh, relu.args)
        relu.replace_all_uses_with(new)
        graph.erase_node(relu)

    observer = tool("passes.graph_transform_observer").GraphTransformObserver(
        module, "rewrite", log_url=tmp_path
    )
    observer.apply_graph_pass(rewrite)
    assert observer.created_nodes == {"tanh"} and observer.erased_nodes == {"relu"}
    assert len(list(tmp_path.glob("*_rewrite_*.html"))) == 2
    module.graph.call_function(t.sin, ())
    assert observer.created_nodes == {"tanh"}


def test_fake_values():
    pytest.importorskip(f"{NAME}._subclasses.fake_tensor")
    fake = importlib.import_module(f"{NAME}._subclasses.fake_tensor")
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 5), nn.ReLU()))
    mode = fake.FakeTensorMode(allow_non_fake_inputs=True)
    result = tool("passes.fake_tensor_prop").FakeTensorProp(module, mode).propagate(t.ones(3, 4))
    assert isinstance(result, fake.FakeTensor) and tuple(result.shape) == (3, 5)
    for node in module.graph.nodes:
        assert isinstance(node.meta["val"], fake.FakeTensor)
    assert tuple(node.meta["val"].shape) == (3, 5)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch notes them in exported programs only")
def test_annotations_of_nodes():
    traceback = tool("traceback")

    class Marked(nn.Module):
        def forward(self, x):
            with traceback.annotate({"stage": 1}):
                x = t.relu(x)
            return x + 1

    graph = fx.Tracer().trace(Marked())
    notes = {n.name: n.meta.get("custom") for n in graph.nodes}
    assert notes["relu"] == {"stage": 1} and not notes["add"]


def test_types_of_values():
    def program(x):
        return tool("annotate").annotate(x + 1, t.Tensor)

    traced = fx.symbolic_trace(program)
    assert next(n for n in traced.graph.nodes if n.name == "add").type is t.Tensor
    assert traced(t.ones(1)).item() == 2


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("proxy", ["Proxy", "TracerBase", "TraceError", "Attribute", "ParameterProxy"]),
        ("node", ["Node", "map_arg", "map_aggregate", "has_side_effect", "base_types"]),
        ("graph", ["Graph", "CodeGen", "PythonCode", "_PyTreeCodeGen", "_PyTreeInfo"]),
        ("graph_module", ["GraphModule", "_get_attr", "_assign_attr", "_copy_attr"]),
        ("_symbolic_trace", ["Tracer", "symbolic_trace", "wrap", "PH", "PHBase", "is_fx_tracing"]),
        ("_compatibility", ["compatibility"]),
        ("_lazy_graph_module", ["_make_graph_module", "_use_lazy_graph_module"]),
        ("interpreter", ["Interpreter", "Transformer"]),
        ("subgraph_rewriter", ["Match", "replace_pattern", "replace_pattern_with_filters"]),
        ("passes.utils.fuser_utils", ["fuse_by_partitions", "topo_sort", "validate_partition"]),
        ("passes.utils.common", ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]),
        ("passes.tools_common", ["get_node_target", "legalize_graph", "CALLABLE_NODE_OPS"]),
        ("experimental.const_fold", ["split_const_subgraphs", "FoldedGraphModule"]),
        ("experimental.optimization", ["fuse", "remove_dropout", "extract_subgraph"]),
        ("experimental.normalize", ["NormalizeArgs", "NormalizeOperators"]),
    ],
)
def test_import_paths(path, names):
    module = tool(path)
    assert all(hasattr(module, name) for name in names)


def test_graphs_are_compared():
    common = tool("passes.utils.common")
    left = fx.symbolic_trace(lambda x, y: t.relu(x) + y).graph
    right = fx.symbolic_trace(lambda a, b: t.relu(a) + b).graph
    assert common.compare_graphs(left, right)
    assert not common.compare_graphs(left, fx.symbolic_trace(lambda a, b: a - b).graph)
