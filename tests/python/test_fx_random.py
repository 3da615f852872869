"""Random programs: every way to run or rewrite a graph gives what the program gives."""

import copy
import importlib
import operator
import pickle
import random

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")


def passes(name):
    return importlib.import_module(f"{NAME}.fx.{name}")


UNARY = [
    lambda x: t.relu(x),
    lambda x: x.sin(),
    lambda x: -x,
    lambda x: nn.functional.softmax(x, dim=-1),
    lambda x: x[..., :3].sum(-1, keepdim=True) + x,
    lambda x: t.cat([x, x], dim=0)[: x.shape[0]],
    lambda x: x.T.reshape(x.shape),
    lambda x: t.stack([x, x + 1]).mean(0),
]
BINARY = [operator.add, operator.mul, operator.sub, t.maximum, lambda a, b: t.where(a > b, a, b)]


class RandomProgram(nn.Module):
    """Steps drawn from a seed, over values made so far."""

    def __init__(self, seed, steps=14):
        super().__init__()
        draw = random.Random(seed)
        self.plan = []
        self.linears = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.scale = nn.Parameter(t.rand(4))
        self.register_buffer("offset", t.rand(4, 4))
        for count in range(2, steps + 2):
            kind = draw.choice(["unary"] * 3 + ["binary"] * 4 + ["module", "parameter", "buffer"])
            self.plan.append(
                (kind, draw.randrange(8), draw.randrange(count), draw.randrange(count))
            )
        self.kept = draw.sample(range(steps + 2), 3)

    def forward(self, x, y):
        values = [x, y]
        for kind, which, a, b in self.plan:
            first, second = values[a], values[b]
            if kind == "unary":
                values.append(UNARY[which % len(UNARY)](first))
            elif kind == "binary":
                values.append(BINARY[which % len(BINARY)](first, second))
            elif kind == "module":
                values.append(self.linears[which % 2](first))
            elif kind == "parameter":
                values.append(first * self.scale)
            else:
                values.append(first - self.offset)
        return values[-1], {"kept": [values[i] for i in self.kept]}


def assert_same(left, right):
    assert t.equal(left[0], right[0])
    assert len(left[1]["kept"]) == 3
    for a, b in zip(left[1]["kept"], right[1]["kept"]):
        assert t.equal(a, b)


@pytest.fixture(params=range(12))
def case(request):
    t.manual_seed(request.param)
    program = RandomProgram(request.param)
    arguments = (t.randn(4, 4), t.randn(4, 4))
    return request.param, program, arguments, program(*arguments)


def test_ways_to_run(case):
    _, program, arguments, expected = case
    traced = fx.symbolic_trace(program)
    traced.graph.lint()
    assert_same(traced(*arguments), expected)
    assert_same(fx.Interpreter(traced).run(*arguments), expected)
    assert_same(copy.deepcopy(traced)(*arguments), expected)
    assert_same(pickle.loads(pickle.dumps(traced))(*arguments), expected)
    assert_same(fx.Transformer(traced).transform()(*arguments), expected)
    assert_same(fx.symbolic_trace(traced)(*arguments), expected)


def test_dead_code_and_common_values(case):
    _, program, arguments, expected = case
    traced = fx.symbolic_trace(program)
    traced.graph.eliminate_dead_code()
    if NAME == "taeda":
        passes("passes.dialect.common.cse_pass").CSEPass()(traced)
        traced.graph.lint()
    traced.recompile()
    assert_same(traced(*arguments), expected)


def test_splits(case):
    seed, program, arguments, expected = case
    traced = fx.symbolic_trace(program)
    nodes = [n for n in traced.graph.nodes if n.op.startswith("call")]
    # Rising numbers, so that no part needs a later one.
    draw, number, numbers = random.Random(seed), 0, {}
    for node in nodes:
        number += draw.random() < 0.3
        numbers[node] = number
    split = passes("passes.split_module").split_module(traced, traced, numbers.__getitem__)
    split.graph.lint()
    assert_same(split(*arguments), expected)


def test_partitions(case):
    seed, program, arguments, expected = case
    traced = fx.symbolic_trace(program)
    draw = random.Random(seed)
    chosen = {n.name for n in traced.graph.nodes if draw.random() < 0.6}
    support = passes("passes.operator_support").create_op_support(
        lambda submodules, node: node.name in chosen
    )
    partitioner = passes("passes.infra.partitioner").CapabilityBasedPartitioner(
        traced, support, allows_single_node_partition=True
    )
    fused = partitioner.partition_and_fuse()
    fused.graph.lint()
    assert_same(fused(*arguments), expected)


def test_folding(case):
    _, program, arguments, expected = case
    folded = passes("experimental.const_fold").split_const_subgraphs(program)
    assert_same(folded(*arguments), expected)


def test_replacing_and_putting_back(case):
    _, program, arguments, expected = case
    traced = fx.symbolic_trace(program)
    there = fx.replace_pattern(traced, lambda a, b: a * b, lambda a, b: t.mul(b, a))
    back = fx.replace_pattern(traced, lambda a, b: t.mul(b, a), lambda a, b: a * b)
    assert len(there) == len(back)
    traced.graph.lint()
    assert_same(traced(*arguments), expected)
