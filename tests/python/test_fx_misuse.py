"""Graphs and modules that are wrong or strange: nothing crashes, and errors say what to do."""

import copy
import functools
import gc
import importlib
import pickle
import weakref

import pytest

import taeda
from taeda import fx, nn
from taeda.fx import Graph, GraphModule, symbolic_trace


def chain():
    graph = Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(taeda.relu, (x,))
    neg = graph.call_function(taeda.neg, (relu,))
    graph.output(neg)
    return graph, x, relu, neg


def module_of(function):
    graph = Graph()
    graph.output(graph.call_function(function, (graph.placeholder("x"),)))
    return GraphModule(nn.Module(), graph)


# ---- arguments that may go while they are pointed at ----
EDITS = [
    lambda node, arg: setattr(node, "args", (arg,)),
    lambda node, arg: setattr(node, "kwargs", {"input": [arg]}),
    lambda node, arg: node.update_arg(0, arg),
    lambda node, arg: node.insert_arg(0, arg),
    lambda node, arg: node.update_kwarg("input", arg),
    lambda node, arg: node.replace_input_with(node.args[0], arg),
    lambda node, arg: node.args[0].replace_all_uses_with(arg),
    lambda node, arg: node.graph.call_function(taeda.relu, (arg,)),
]


@pytest.mark.parametrize("edit", EDITS)
def test_no_edit_takes_a_node_that_is_not_in_the_graph(edit):
    graph, _x, relu, neg = chain()
    other, stranger, *_ = chain()
    with pytest.raises(RuntimeError, match="does not belong to this Graph: it belongs to another"):
        edit(neg, stranger)
    erased = graph.call_function(taeda.exp, (relu,))
    graph.erase_node(erased)
    with pytest.raises(RuntimeError, match="does not belong to this Graph: it was erased"):
        edit(neg, erased)
    assert neg.args == (relu,) and list(relu.users) == [neg] and not neg.kwargs
    graph.lint()
    other.lint()


def test_an_erased_node_takes_no_arguments():
    graph, x, relu, _neg = chain()
    erased = graph.call_function(taeda.exp, (x,))
    graph.erase_node(erased)
    with pytest.raises(RuntimeError, match="exp was erased from its graph"):
        erased.args = (x,)
    assert list(x.users) == [relu]


def test_node_copy_names_the_remedy():
    graph, _x, relu, _neg = chain()
    with pytest.raises(RuntimeError, match="node_copy\\(node, arg_transform\\)"):
        Graph().node_copy(relu)


def test_containers_that_are_too_deep():
    graph, x, *_ = chain()
    deep = x
    for _ in range(100_000):
        deep = [deep]
    endless = []
    endless.append(endless)
    for value in (deep, endless, {"a": endless}, (endless,)):
        with pytest.raises(RecursionError):
            graph.call_function(print, (value,))
    graph.lint()


# ---- garbage ----
class Marker:
    pass


def marker_in_its_own_graph(place):
    """A weak reference to an object that holds the graph which holds it at a place."""
    graph = Graph()
    x = graph.placeholder("x")
    marker = Marker()
    marker.graph = graph

    def function(x):
        return marker

    target = function if place == "target" else taeda.relu
    args = (x, [marker]) if place == "args" else (x,)
    kwargs = {"a": {"b": marker}} if place == "kwargs" else {}
    node = graph.call_function(target, args, kwargs)
    if place == "type":
        node.type = marker
    elif place == "meta":
        node.meta["marker"] = marker
    elif place == "attribute":
        node.marker = marker
    return weakref.ref(marker)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["target", "args", "kwargs", "type", "meta", "attribute"])
def test_a_graph_that_holds_itself_is_collected(place):
    marker = marker_in_its_own_graph(place)
    gc.collect()
    assert marker() is None


def test_what_two_graphs_share_stays():
    graph = Graph()
    marker = Marker()
    marker.graph = graph
    graph.call_function(print, (graph.placeholder("x"), marker))
    copied = copy.deepcopy(graph)
    del graph, marker
    gc.collect()
    assert isinstance(list(copied.nodes)[1].args[1], Marker)
    assert list(copied.nodes)[1].args[1].graph is not copied


# ---- broken graphs ----
def broken():
    graph, _x, relu, neg = chain()
    relu.args = (neg,)
    return graph


def test_a_broken_graph_can_be_looked_at():
    graph = broken()
    assert "relu](args = (%neg,)" in str(graph)
    assert "relu = taeda.relu(neg)" in GraphModule(nn.Module(), graph).code
    assert str(pickle.loads(pickle.dumps(graph))) == str(graph)


@pytest.mark.parametrize(
    "use",
    [Graph.lint, Graph.eliminate_dead_code, copy.deepcopy]
    + [lambda g: fx.Interpreter(GraphModule(nn.Module(), g)).run(taeda.ones(1))],
)
def test_a_broken_graph_is_not_used(use):
    with pytest.raises(RuntimeError, match="neg"):
        use(broken())


@pytest.mark.parametrize(
    ("target", "words"),
    [("a b", "is no name"), ("class", "is no name"), ("x", "two parameters"), ("self", "two")],
)
def test_placeholders_that_are_no_parameters(target, words):
    graph = Graph()
    graph.placeholder("x")
    graph.output(graph.placeholder(target))
    with pytest.raises(RuntimeError, match=words):
        GraphModule(nn.Module(), graph).code  # noqa: B018


# ---- names ----
def test_children_may_have_any_name(tmp_path, monkeypatch):
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            names = ["class", "None", "a b", "1", "a/b", 'a"b', "a\\", "é", "x;import os"]
            self.parts = nn.ModuleDict({name: nn.Tanh() for name in names})
            self.add_module("a/b", nn.LayerNorm(2))
            self.register_parameter("class", nn.Parameter(taeda.ones(2)))

        def forward(self, x):
            for name in self.parts:
                x = self.parts[name](x)
            return getattr(self, "a/b")(x) * getattr(self, "class")

    module = Odd()
    traced = symbolic_trace(module)
    x = taeda.tensor([1.0, 2.0])
    expected = module(x).tolist()
    assert traced(x).tolist() == expected
    assert pickle.loads(pickle.dumps(traced))(x).tolist() == expected
    assert copy.deepcopy(traced)(x).tolist() == expected
    traced.to_folder(tmp_path / "odd_names", "Odd")
    monkeypatch.syspath_prepend(str(tmp_path))
    written = importlib.import_module("odd_names").Odd()
    assert written(x).tolist() == expected


@pytest.mark.parametrize("name", ["graph", "code", "meta", "recompile", "print_readable"])
def test_names_that_graph_modules_use(name):
    module = nn.Module()
    module.add_module(name, nn.ReLU())
    graph = Graph()
    graph.output(graph.call_module(name, (graph.placeholder("x"),)))
    for root in (module, {name: nn.ReLU()}):
        with pytest.raises(RuntimeError, match=f"'{name}' is an attribute that every GraphModule"):
            GraphModule(root, graph)


class Callable:
    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Callable(), "callable_1"),
        (functools.partial(taeda.add, 1), "functools_partial"),
        (nn.ReLU(), "re_lu"),
    ],
)
def test_callables_without_a_name(function, name, tmp_path):
    traced = module_of(function)
    x = taeda.ones(1)
    assert traced(x).tolist() == function(x).tolist()
    assert f"%{name} :" in str(traced.graph)
    assert pickle.loads(pickle.dumps(traced))(x).tolist() == function(x).tolist()
    with pytest.raises(RuntimeError, match="no import gives"):
        traced.to_folder(tmp_path / "nameless")
