"""Passes that arrange graphs: splitting, partitions, managers, shapes."""

import importlib
import operator

import pytest
from fx_model import Model, passes
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


# ---- split_module ----
def split_by_threes(module, **options):
    count = 0

    def number(node):
        nonlocal count
        count += 1
        return (count - 1) // 3

    return passes("passes.split_module").split_module(module, module, number, **options)


def test_split_module():
    module = fx.symbolic_trace(Model())
    names = {}
    split = split_by_threes(module, qualname_map=names)
    assert split.code == (
        "\n\n\n"
        "def forward(self, x, y):\n"
        "    param = self.param\n"
        "    submod_0 = self.submod_0(x, param);  x = param = None\n"
        "    submod_1 = self.submod_1(y, submod_0);  y = submod_0 = None\n"
        "    return submod_1\n    "
    )
    x, y = t.rand(3, 4), t.rand(3, 4)
    assert t.equal(split(x, y), module(x, y))
    assert names == {"submod_0.linear": "linear", "submod_1.linear": "linear"}
    assert isinstance(split.submod_0, fx.GraphModule)


def test_split_with_several_results():
    def program(x):
        a, b = x + 1, x - 1
        return a * b, a / b

    module = fx.symbolic_trace(program)
    split_module = passes("passes.split_module").split_module
    split = split_module(module, module, lambda n: int(n.name in ("mul", "truediv")))
    assert "getitem_1 = submod_0[1]" in split.code
    x = t.tensor(3.0)
    assert [v.item() for v in split(x)] == [8, 2]


def test_split_refuses_cycles():
    module = fx.symbolic_trace(lambda x: t.cos(t.sin(t.cos(x))))
    split_module = passes("passes.split_module").split_module
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(module, module, lambda n: int(n.target is t.sin))


# ---- partitions ----
SUPPORTED = (operator.add, operator.mul, operator.sub, t.relu, t.cos)


def program(a, b, c):
    y = t.relu(a + b)
    w = t.cos(y.sin())
    return w * c + y - a, t.tanh(c)


def partitioner(module, **options):
    support = passes("passes.operator_support").create_op_support(
        lambda submodules, node: node.op == "call_function" and node.target in SUPPORTED
    )
    cls = passes("passes.infra.partitioner").CapabilityBasedPartitioner
    return cls(module, support, **options)


def test_partitions():
    module = fx.symbolic_trace(program)
    groups = partitioner(module).propose_partitions()
    found = sorted(sorted(n.name for n in group.nodes) for group in groups)
    assert found == [["add", "relu"], ["add_1", "cos", "mul", "sub"]]


def test_partitions_become_modules():
    module = fx.symbolic_trace(program)
    values = [t.randn(2) for _ in range(3)]
    expected = module(*values)
    fused = partitioner(module).partition_and_fuse()
    fused.graph.lint()
    calls = [n.target for n in fused.graph.nodes if n.op == "call_module"]
    assert sorted(calls) == ["fused_0", "fused_1"]
    for mine, theirs in zip(fused(*values), expected):
        assert t.equal(mine, theirs)


def test_a_path_outside_keeps_groups_apart():
    # add → sin (not supported) → mul: one group would need itself.
    module = fx.symbolic_trace(lambda a: (a + 1).sin() * (a + 2))
    groups = partitioner(module, allows_single_node_partition=True).propose_partitions()
    found = sorted(sorted(n.name for n in group.nodes) for group in groups)
    assert found in ([["add"], ["add_1", "mul"]], [["add", "add_1"], ["mul"]])
    assert partitioner(module).partition_and_fuse()(t.ones(1)).shape == (1,)


def test_groups_without_results():
    def program(a):
        (a + 1) * 2
        return a.sin()

    module = fx.symbolic_trace(program)
    support = passes("passes.operator_support").create_op_support(
        lambda submodules, node: node.op == "call_function"
    )
    cls = passes("passes.infra.partitioner").CapabilityBasedPartitioner
    fused = cls(module, support).partition_and_fuse()
    fused.graph.lint()
    assert fused(t.zeros(1)).item() == 0


def test_single_nodes_are_left_alone():
    module = fx.symbolic_trace(lambda a: (a + 1).sin())
    assert partitioner(module).propose_partitions() == []
    (group,) = partitioner(module, allows_single_node_partition=True).propose_partitions()
    assert group.size() == 1


def test_operator_support():
    support = passes("passes.operator_support")
    module = fx.symbolic_trace(Model())
    passes("passes.shape_prop").ShapeProp(module).propagate(t.rand(3, 4), t.rand(3, 4))
    nodes = {n.name: n for n in module.graph.nodes}
    submodules = dict(module.named_modules())
    floats = support.OperatorSupport({"_operator.add": (((t.float32,), (t.float32,)), {})})
    ints = support.OperatorSupport({"_operator.add": (((t.int64,), (t.int64,)), {})})
    assert floats.is_node_supported(submodules, nodes["add"])
    assert not ints.is_node_supported(submodules, nodes["add"])
    assert not floats.is_node_supported(submodules, nodes["linear"])
    linear = f"{NAME}.nn.modules.linear.Linear"
    assert support.OperatorSupport({linear: None}).is_node_supported(submodules, nodes["linear"])
    no = support.OpSupports.decline_if_input_dtype(t.float32)
    assert not no.is_node_supported(submodules, nodes["add"])
    both = support.chain(floats, support.OpSupports.decline_if_node_in_names({"add"}))
    assert not both.is_node_supported(submodules, nodes["add"])
    assert support.any_chain(floats, no).is_node_supported(submodules, nodes["add"])


# ---- managers ----
def replacing(old, new):
    def replace(module):
        for node in module.graph.nodes:
            if node.target is old:
                node.target = new
        return module

    replace.__name__ = f"{old.__name__}_to_{new.__name__}"
    return passes("passes.infra.pass_manager").pass_result_wrapper(replace)


def test_pass_manager_sorts_by_constraints():
    manager = passes("passes.infra.pass_manager")
    first, second = replacing(operator.add, operator.mul), replacing(operator.mul, operator.sub)
    before = manager.this_before_that_pass_constraint(first, second)
    result = manager.PassManager([second, first], [before])(fx.symbolic_trace(lambda x: x + 1))
    assert result.modified and result.graph_module(t.ones(1)).item() == 0
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        manager.PassManager([second, first], [before]).validate_constraints()
    cycle = manager.this_before_that_pass_constraint(second, first)
    with pytest.raises(RuntimeError, match="Circular dependency detected"):
        manager.PassManager([second, first], [before, cycle])(result.graph_module)


def test_pass_manager_names_the_pass_that_failed():
    manager = passes("passes.infra.pass_manager")

    def broken(module):
        raise KeyError("oops")

    ok = replacing(operator.add, operator.mul)
    with pytest.raises(Exception, match="'broken' pass after the following passes") as caught:
        manager.PassManager([ok, broken])(fx.symbolic_trace(lambda x: x))
    assert isinstance(caught.value.__cause__, KeyError)


def test_pass_base_checks_before_and_after():
    base = passes("passes.infra.pass_base")
    seen = []

    class Noted(base.PassBase):
        def requires(self, module):
            seen.append("requires")

        def call(self, module):
            seen.append("call")
            return base.PassResult(module, False)

        def ensures(self, module):
            seen.append("ensures")

    assert not Noted()(fx.symbolic_trace(lambda x: x)).modified
    assert seen == ["requires", "call", "ensures"]


def test_older_pass_manager():
    older = passes("passes.pass_manager")
    double = older.inplace_wrapper(lambda values: values.append(values[-1] * 2))
    manager = older.PassManager.build_from_passlist([double, older.loop_pass(double, n_iter=2)])
    assert manager([1]) == [1, 2, 4, 8]
    manager.add_constraint(older.this_before_that_pass_constraint(manager.passes[1], double))
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        manager([1])


# ---- shapes ----
def test_shape_prop():
    module = fx.symbolic_trace(Model())
    passes("passes.shape_prop").ShapeProp(module).propagate(t.rand(3, 4), t.rand(3, 4))
    clamp = next(n for n in module.graph.nodes if n.name == "clamp")
    meta = clamp.meta["tensor_meta"]
    assert tuple(meta.shape) == (3, 5) and meta.dtype == t.float32 and meta.stride == (5, 1)
    assert meta.requires_grad and meta.memory_format == t.contiguous_format
    assert clamp.meta["type"] is t.Tensor
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%add"):
        passes("passes.shape_prop").ShapeProp(module).propagate(t.rand(7, 9), t.rand(3, 4))


def test_sizes_in_bytes():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(4, 5)))
    passes("passes.graph_manipulation").get_size_of_all_nodes(module, [t.rand(3, 4)])
    linear = next(n for n in module.graph.nodes if n.op == "call_module")
    assert linear.size_bytes.output_size == 60
    assert linear.size_bytes.total_size == 60 + 4 * (20 + 5)
