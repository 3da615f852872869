"""Tracing with shapes, merged products, types from signatures, and other small passes."""

import importlib
import operator
import pickle
import typing

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
merge_matmul = importlib.import_module(f"{NAME}.fx.experimental.merge_matmul")
meta_tracer = importlib.import_module(f"{NAME}.fx.experimental.meta_tracer")
schema_types = importlib.import_module(f"{NAME}.fx.experimental.schema_type_annotation")
debug = importlib.import_module(f"{NAME}.fx.experimental.debug")
splitting = importlib.import_module(f"{NAME}.fx.passes.split_module")
getitem_types = importlib.import_module(f"{NAME}.fx.passes.annotate_getitem_nodes")
tensor_type = importlib.import_module(f"{NAME}.fx.tensor_type")

only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch does less here")


# ---- merge_matmul ----
class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(t.arange(6.0).reshape(2, 3))

    def forward(self, x, y, z):
        first = t.matmul(x, self.weight)
        second = t.matmul(y, self.weight).sum(0)
        return first + second, t.matmul(z, self.weight.t())


def count_products(module):
    return sum(n.target is t.matmul for n in module.graph.nodes)


def test_products_by_one_matrix_are_merged():
    module = Products()
    merged = merge_matmul.merge_matmul(module)
    assert count_products(merged) == 2
    inputs = (t.ones(1, 2), t.full((4, 2), 2.0), t.ones(2, 3))
    for one, other in zip(merged(*inputs), module(*inputs)):
        assert t.equal(one, other)


@only_taeda
def test_a_merged_module_can_be_traced_again():
    merged = merge_matmul.merge_matmul(lambda x, y, w: t.matmul(x, w) + t.matmul(y, w))
    again = fx.symbolic_trace(merged)
    assert again(t.ones(1, 2), t.ones(1, 2), t.ones(2, 2)).tolist() == [[4, 4]]


def test_products_that_depend_on_each_other_are_not_merged():
    module = merge_matmul.merge_matmul(lambda x, w: t.matmul(t.matmul(x, w).relu(), w))
    assert count_products(module) == 2
    nodes = {n.name: n for n in module.graph.nodes}
    assert merge_matmul.may_depend_on(nodes["matmul_1"], nodes["matmul"])
    assert not merge_matmul.may_depend_on(nodes["matmul"], nodes["matmul_1"])
    assert not merge_matmul.are_nodes_independent([nodes["matmul"], nodes["matmul_1"]])


# ---- meta_tracer ----
class ByShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        y = self.embedding(x)
        y = self.norm(y + t.arange(y.shape[-1], dtype=t.float, device=y.device))
        return t.relu(y) if y.shape[0] < 3 else t.sigmoid(y)


@pytest.mark.parametrize(("rows", "function"), [(2, "relu"), (3, "sigmoid")])
def test_control_flow_on_shapes(rows, function):
    module, x = ByShape(), t.zeros(rows, dtype=t.long)
    traced = meta_tracer.symbolic_trace(module, meta_args={"x": x.to("meta")})
    assert f"{function} = " in traced.code
    assert t.equal(traced(x), module(x))
    assert t.equal(pickle.loads(pickle.dumps(traced))(x), module(x))


@only_taeda
def test_parameters_and_modules_have_shapes_too():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 8)
            self.scale = nn.Parameter(t.ones(8))

        def forward(self, x):
            y = nn.ReLU()(self.linear(x)) * self.scale
            return y.view(-1) if y.dim() == 2 and y.size(0) == 3 and y.ndim == 2 else y

    traced = meta_tracer.symbolic_trace(Model(), {"x": t.ones(3, 4, device="meta")})
    assert traced(t.ones(3, 4)).shape == (24,)


@only_taeda
def test_what_has_no_shape_is_told():
    with pytest.warns(UserWarning, match="Could not compute metadata for call_function target"):
        traced = meta_tracer.symbolic_trace(lambda x, y: t.relu(x) + y, {"x": t.ones(2).to("meta")})
    assert traced(t.ones(2), 1).tolist() == [2, 2]
    with pytest.warns(UserWarning, match="nothing is known of Proxy"):
        traced = meta_tracer.symbolic_trace(lambda x: x.shape[0])
    assert "getitem" in traced.code


# ---- types ----
class Typed(typing.NamedTuple):
    a: int
    b: str


@pytest.mark.parametrize(
    ("container", "index", "element"),
    [
        (typing.List[int], 1, int),  # noqa: UP006
        (typing.Tuple[int, str], 1, str),  # noqa: UP006
        (tuple[int, ...], 5, int),
        (list[str], 0, str),
        (Typed, 1, str),
        (None, 0, None),
        (int, 0, None),
    ],
)
def test_types_of_elements(container, index, element):
    graph = fx.Graph()
    x = graph.create_node("placeholder", "x", type_expr=container)
    node = graph.call_function(operator.getitem, (x, index))
    getitem_types.annotate_getitem_nodes(graph)
    assert node.type is element


def test_types_from_signatures():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.scale = nn.Parameter(t.ones(2))

        def forward(self, x):
            return nn.functional.softmax(self.linear(x) * self.scale, -1)

    traced = fx.symbolic_trace(Model())
    typed = schema_types.AnnotateTypesWithSchema(traced).transform()
    types = {n.name: n.type for n in typed.graph.nodes}
    assert types["linear"] is types["scale"] is types["softmax"] is t.Tensor
    assert types["x"] is None
    bare = schema_types.AnnotateTypesWithSchema(traced, False, False, False).transform()
    assert {n.type for n in bare.graph.nodes} == {None}


@only_taeda
def test_types_from_schemas():
    traced = fx.symbolic_trace(lambda x: (t.exp(x), t.aminmax(x), t.max(x)))
    typed = schema_types.AnnotateTypesWithSchema(traced).transform()
    types = {n.name: n.type for n in typed.graph.nodes}
    assert types["exp"] is t.Tensor
    assert types["aminmax"] == tuple[t.Tensor, t.Tensor]
    assert types["max_1"] is None  # the overloads differ


def test_tensor_types():
    dyn, tensor = tensor_type.Dyn, tensor_type.TensorType
    assert tensor((1, dyn)) == tensor[1, dyn] != tensor((1, 2))
    assert tensor_type.is_consistent(tensor((1, dyn)), tensor((1, 2)))
    assert not tensor_type.is_consistent(tensor((1, 3)), tensor((1, 2)))
    assert not tensor_type.is_consistent(tensor((1,)), tensor((1, dyn)))
    assert tensor_type.is_more_precise(tensor((1, 2)), tensor((1, dyn)))
    assert not tensor_type.is_more_precise(tensor((1, dyn)), tensor((1, 2)))
    assert tensor_type.is_more_precise(int, dyn) and not tensor_type.is_more_precise(dyn, int)


# ---- others ----
def test_split_by_a_dict():
    module = fx.symbolic_trace(lambda x: t.neg(t.relu(x) + 1))
    numbers = {"relu": 0, "add": 0, "neg": 1}
    parts = {n: numbers[n.name] for n in module.graph.nodes if n.name in numbers}
    split = splitting.split_module_simple(module, parts)
    assert [name for name, _ in split.named_children()] == ["submod_0", "submod_1"]
    assert split(t.ones(1)).tolist() == [-2]


@only_taeda
def test_a_breakpoint_in_a_module(monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(True))
    module = debug.set_trace(fx.symbolic_trace(lambda x: x + 1))
    assert module(1) == 2 and stops == [True]
    module.recompile()
    assert module(1) == 2 and stops == [True]
    with pytest.raises(TypeError, match="takes a GraphModule, got int"):
        debug.set_trace(3)
