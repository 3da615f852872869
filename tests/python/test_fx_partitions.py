"""Groups of supported nodes: found in graphs of many shapes, and fused without changing results."""

import copy
import importlib
import operator
import random

import pytest
from under_test import NAME

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
partitioner = importlib.import_module(f"{NAME}.fx.passes.infra.partitioner")
operator_support = importlib.import_module(f"{NAME}.fx.passes.operator_support")
fuser_utils = importlib.import_module(f"{NAME}.fx.passes.utils.fuser_utils")

SUPPORTED = (operator.add, operator.mul, operator.sub)
OTHERS = (max, min)


def random_module(seed):
    numbers = random.Random(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(numbers.randint(5, 25)):
        inputs = (numbers.choice(nodes), numbers.choice(nodes[-4:]))
        nodes.append(graph.call_function(numbers.choice(SUPPORTED + OTHERS), inputs))
    graph.output(tuple(n for n in nodes if not n.users))
    return fx.GraphModule(nn.Module(), graph)


def partitioner_of(module, **options):
    support = operator_support.create_op_support(lambda _, node: node.target in SUPPORTED)
    return partitioner.CapabilityBasedPartitioner(
        module, support, allows_single_node_partition=True, **options
    )


@pytest.mark.parametrize("skip_horizontal_fusion", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_fused_groups_compute_the_same(seed, skip_horizontal_fusion):
    module = random_module(seed)
    expected = module(3, 2)
    finder = partitioner_of(module, skip_horizontal_fusion=skip_horizontal_fusion)
    groups = finder.propose_partitions()
    grouped = [node for group in groups for node in group.nodes]
    supported = {n for n in module.graph.nodes if n.target in SUPPORTED}
    assert len(grouped) == len(supported) and set(grouped) == supported
    fused = finder.fuse_partitions(groups)
    fused.graph.lint()
    assert fused(3, 2) == expected


@pytest.mark.parametrize("seed", range(10))
def test_no_two_groups_could_be_one(seed):
    groups = partitioner_of(random_module(seed)).propose_partitions()
    for i in range(len(groups)):
        for j in range(i):
            module = random_module(seed)
            names = {n.name: n for n in module.graph.nodes}
            joined = [[names[n.name] for n in g.nodes] for g in groups]
            joined[j] += joined.pop(i)
            with pytest.raises((AssertionError, RuntimeError)):
                fuser_utils.fuse_by_partitions(module, [dict.fromkeys(g) for g in joined])


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch leaves a graph half fused")
def test_groups_that_cannot_run_as_one_are_refused():
    module = fx.symbolic_trace(lambda x: (x + 1) * (x + 1).relu())
    nodes = {n.name: n for n in module.graph.nodes}
    before = module.code
    with pytest.raises(AssertionError, match="found dependency cycles"):
        fuser_utils.fuse_by_partitions(module, [[nodes["mul"], nodes["add_1"]]])
    assert copy.deepcopy(module).code == before


def test_partitions_keep_orders():
    partition = partitioner.Partition(id=3, nodes=["a", "b"], node_orders=[5, 7])
    partition.add_node("c", 9)
    assert partition.nodes == {"a": 5, "b": 7, "c": 9} and partition.size() == 3
    with pytest.raises(AssertionError, match="same length"):
        partitioner.Partition(nodes=["a"], node_orders=[])
