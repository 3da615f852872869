"""symbolic_trace: what programs become, as printed graphs and generated code."""

import copy
import dataclasses
import importlib
import math
import operator
import typing
from collections import namedtuple

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
proxy = importlib.import_module(f"{NAME}.fx.proxy")

Pair = namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Box:
    value: object
    scale: float = 2.0


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.weight = nn.Parameter(t.ones(4))
        self.register_buffer("offset", t.ones(4))
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.unused = nn.Linear(2, 2)

    def forward(self, x: t.Tensor, y=None, *, k: int = 3, **kwargs):
        a = self.layers(self.linear(x))[0, 1:3, ...]
        b = t.cat([a, a.reshape(1, -1)], dim=-1) + self.weight
        return {"b": -b // 2, "pair": (b.shape[0], b @ b.T)}, self.offset + x[:, None]


CODE = """


def forward(self, x : taeda.Tensor, y = None, k : int = 3, **kwargs):
    _kwargs = kwargs
    linear = self.linear(x)
    layers_0 = getattr(self.layers, "0")(linear);  linear = None
    layers_1 = getattr(self.layers, "1")(layers_0);  layers_0 = None
    getitem = layers_1[(0, slice(1, 3, None), Ellipsis)];  layers_1 = None
    reshape = getitem.reshape(1, -1)
    cat = taeda.cat([getitem, reshape], dim = -1);  getitem = reshape = None
    weight = self.weight
    add = cat + weight;  cat = weight = None
    neg = -add
    floordiv = neg // 2;  neg = None
    getattr_1 = add.shape
    getitem_1 = getattr_1[0];  getattr_1 = None
    getattr_2 = add.T
    matmul = add @ getattr_2;  add = getattr_2 = None
    getitem_2 = x[(slice(None, None, None), None)];  x = None
    offset = self.offset
    add_1 = offset.add(getitem_2);  offset = getitem_2 = None
    return ({'b': floordiv, 'pair': (getitem_1, matmul)}, add_1)
    """


def code_of(program, **kwargs):
    return fx.symbolic_trace(program, **kwargs).code.replace(NAME, "taeda")


def body_of(program, **kwargs):
    """The statements of the generated function, without the freeing of values."""
    lines = code_of(program, **kwargs).strip().split("\n")[1:]
    return [line.strip().partition(";")[0] for line in lines]


def test_code_of_a_module():
    assert code_of(Small()) == CODE


def test_text_of_a_graph():
    def program(x: t.Tensor, y=2):
        return t.relu(x.sin() + y)

    assert str(fx.symbolic_trace(program).graph).replace(NAME, "taeda") == (
        "graph():\n"
        "    %x : taeda.Tensor [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y](default=2)\n"
        "    %sin : [num_users=1] = call_method[target=sin](args = (%x,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%sin, %y), "
        "kwargs = {})\n"
        "    %relu : [num_users=1] = call_function[target=taeda.relu](args = (%add,), "
        "kwargs = {})\n"
        "    return relu"
    )


def test_the_module_computes_what_the_program_does():
    module = Small()
    x = t.randn(4, 4)

    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module.layers

        def forward(self, x):
            return self.inner(x).sum(0, keepdim=True) ** 2 + 2.0**x - (1 - x) / (x * x + 1)

    program = Program()
    assert t.equal(fx.symbolic_trace(program)(x), program(x))


def test_only_what_is_used_is_taken():
    traced = fx.symbolic_trace(Small())
    assert [name for name, _ in traced.named_children()] == ["linear", "layers"]
    assert {name for name, _ in traced.named_parameters()} >= {"weight", "linear.weight"}
    assert "offset" in dict(traced.named_buffers())


@pytest.mark.parametrize(
    ("program", "statement"),
    [
        (lambda x: x + 1, "add = x + 1"),
        (lambda x: 1 + x, "add = 1 + x"),
        (lambda x: 2 - x, "sub = 2 - x"),
        (lambda x: x / 2, "truediv = x / 2"),
        (lambda x: 2 / x, "truediv = 2 / x"),
        (lambda x: 2**x, "pow_1 = 2 ** x"),
        (lambda x: x % 3, "mod = x % 3"),
        (lambda x: x << 1, "lshift = x << 1"),
        (lambda x: x & 1, "and_ = x & 1"),
        (lambda x: 1 | x, "or_ = 1 | x"),
        (lambda x: x ^ x, "xor = x ^ x"),
        (lambda x: ~x, "invert = ~x"),
        (lambda x: +x, "pos = +x"),
        (lambda x: x == 1, "eq = x == 1"),
        (lambda x: 1 < x, "gt = x > 1"),
        (lambda x: x != None, "ne = x != None"),  # noqa: E711
        (lambda x: abs(x), "abs_1 = _operator_abs(x)"),
        (lambda x: x[..., 1:], "getitem = x[(Ellipsis, slice(1, None, None))]"),
        (lambda x: x["key"], "getitem = x['key']"),
        (lambda x: getattr(x, "T"), "getattr_1 = x.T"),  # noqa: B009
        (lambda x: x(1, a=2), "call = x.__call__(1, a = 2)"),
        (lambda x: F.relu(x, inplace=True), "relu = taeda.nn.functional.relu(x, inplace = True)"),
        (
            lambda x: F.soft_margin_loss(x, x),
            "soft_margin_loss = taeda.nn.functional.soft_margin_loss(x, x, size_average = None, "
            "reduce = None, reduction = 'mean')",
        ),
        (lambda x: math.sqrt(x), "sqrt = math_sqrt(x)"),
        (lambda x: x.to(t.float16), "to = x.to(taeda.float16)"),
        (lambda x: x.to(t.device("cpu")), "to = x.to(device(type='cpu'))"),
        (lambda x: t.full_like(x, math.inf), "full_like = taeda.full_like(x, inf)"),
        (lambda x: operator.iadd(x, 1), "add = x + 1"),
        (lambda x: t.ones(2).add(x), "_tensor_constant0 = self._tensor_constant0"),
    ],
)
def test_statement(program, statement):
    assert statement in body_of(program)


def test_unpacking_reads_items():
    def program(x):
        a, (b, c) = x
        return a + b + c

    assert body_of(program)[:4] == [
        "getitem = x[0]",
        "getitem_1 = x[1]",
        "getitem_2 = getitem_1[0]",
        "getitem_3 = getitem_1[1]",
    ]


def test_containers_of_proxies():
    def program(x):
        return Pair(x, [x, {"k": x}]), Box(x + 1)

    text = code_of(program)
    assert "Pair(x, [x, {'k': x}])" in text
    assert "Box(value = add, scale = 2.0)" in text
    result = fx.symbolic_trace(program)(t.ones(1))
    assert isinstance(result[0], Pair) and isinstance(result[1], Box)


def test_modules_below_are_traced_or_leaves():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.small = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x):
            return self.small(x)

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, qualname):
            return qualname == "small" or super().is_leaf_module(m, qualname)

    calls = [n.target for n in Leaves().trace(Outer()).nodes if n.op == "call_module"]
    assert calls == ["small"]
    calls = [n.target for n in fx.Tracer().trace(Outer()).nodes if n.op == "call_module"]
    assert calls == ["small.0", "small.1"]


def test_nothing_is_a_leaf():
    class Inside(fx.Tracer):
        def is_leaf_module(self, m, qualname):
            return False

    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    graph = Inside().trace(module)
    targets = [n.target for n in graph.nodes if n.op == "get_attr"]
    assert targets == ["0.weight", "0.bias"]
    x = t.randn(1, 2)
    assert t.equal(fx.GraphModule(module, graph)(x), module(x))


def test_module_stack_of_nodes():
    class Inner(nn.Module):
        def forward(self, x):
            return t.relu(x)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(self.inner(x)) + 1

    graph = fx.symbolic_trace(Outer()).graph
    stacks = {n.name: n.meta.get("nn_module_stack") for n in graph.nodes}
    assert stacks["relu"] == {"inner": ("inner", Inner)}
    assert stacks["relu_1"] == {"inner@1": ("inner", Inner)}
    assert not stacks["add"]


def test_stack_traces_name_the_line():
    class Traced(nn.Module):
        def forward(self, x):
            return t.relu(x)  # the line

    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Traced())
    relu = next(n for n in graph.nodes if n.name == "relu")
    assert "return t.relu(x)  # the line" in relu.stack_trace


def test_modules_work_as_before_after_a_trace():
    module = nn.Linear(2, 2)
    before = (nn.Module.__call__, nn.Module.__getattr__)
    fx.symbolic_trace(nn.Sequential(module))
    with pytest.raises(proxy.TraceError):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    assert before == (nn.Module.__call__, nn.Module.__getattr__)
    assert isinstance(module.weight, nn.Parameter)


@pytest.mark.parametrize(
    ("program", "statement"),
    [
        (lambda x: t.full((x.size(0),), 1.0), "full = taeda.full((size,), 1.0)"),
        (lambda x: t.full([2, x.size(0)], 1.0), "full = taeda.full([2, size], 1.0)"),
        (lambda x: t.ones(4).view(2, x.size(0)), "view = _tensor_constant0.view(2, size)"),
        (lambda x: t.ones(4).view((x.size(0), 2)), "view = _tensor_constant0.view((size, 2))"),
        (lambda x: t.arange(x.size(0)), "arange = taeda.arange(size)"),
        (lambda x: t.ones(4).sum(x.size(0)), "sum_1 = _tensor_constant0.sum(size)"),
    ],
)
def test_sizes_may_be_proxies(program, statement):
    assert statement in body_of(program)


def test_operators_by_name_are_recorded():
    def program(x):
        added = t.ops.aten.add.Tensor(x, 1)
        return t.ops.aten.relu(added), t.ops.aten.cat.default([x, x])

    graph = fx.symbolic_trace(program).graph
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    aten = t.ops.aten
    assert targets == [aten.add.Tensor, aten.relu, aten.cat.default]
    assert "taeda.ops.aten.add.Tensor(x, 1)" in code_of(program)


def test_annotations_become_code():
    def program(x: t.Tensor | None, y, z: dict[str, list[int]]) -> tuple[t.Tensor, int]:
        return x, 1

    # Written out it would be changed into int | None, which is another class.
    program.__annotations__["y"] = eval("typing.Optional[int]", {"typing": typing})
    traced = fx.symbolic_trace(program)
    assert "y : typing_Union[int,NoneType]" in traced.code
    assert "z : dict[str,list[int]]) -> tuple[" in traced.code
    assert traced(t.ones(1), None, {})[1] == 1


def test_functions_of_symbolic_numbers_are_recorded():
    def sizes(x):
        rows, columns = x.size(0), x.size(1)
        return [
            t.sym_max(rows, 3),
            t.sym_min(columns, 2),
            t.sym_float(rows),
            t.sym_int(rows),
            t.sym_not(rows == 2),
            t.sym_sum([rows, 1]),
            t.sym_ite(rows == 2, 1, 5),
        ]

    traced = fx.symbolic_trace(sizes)
    names = {n.target.__name__ for n in traced.graph.nodes if n.op == "call_function"}
    assert names >= {"sym_max", "sym_min", "sym_float", "sym_int", "sym_not", "sym_sum", "sym_ite"}
    assert traced(t.ones(2, 5)) == [3, 2, 2.0, 2, False, 3, 1]
    assert traced(t.ones(4, 1)) == [4, 1, 4.0, 4, True, 5, 5]


def test_concrete_args_of_a_function_of_any_number_of_arguments():
    class Sum(nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] + args[1]

    module = fx.symbolic_trace(Sum(), concrete_args=(fx.PH, fx.PH))
    assert [n.name for n in module.graph.nodes][:2] == ["input_0", "input_1"]
    assert module(t.ones(1), t.ones(1)).item() == 2


def test_a_copied_proxy_stands_for_a_copied_node():
    node = list(fx.symbolic_trace(lambda x: 2 * x).graph.nodes)[1]
    copied = copy.deepcopy(fx.Proxy(node, fx.Tracer()))
    assert copied.node.name == node.name and copied.node is not node
    assert isinstance(copied.tracer, fx.Tracer)
