"""replace_pattern and SubgraphMatcher."""

import importlib
import operator

import pytest
from under_test import NAME, t

fx = importlib.import_module(f"{NAME}.fx")
nn = importlib.import_module(f"{NAME}.nn")
rewriter = importlib.import_module(f"{NAME}.fx.subgraph_rewriter")
matcher_utils = importlib.import_module(f"{NAME}.fx.passes.utils.matcher_utils")


def targets(module):
    return [n.target for n in module.graph.nodes if n.op == "call_function"]


def test_every_place_is_rewritten():
    module = fx.symbolic_trace(lambda x, y: t.cat([x, y]).sum() + t.cat([y, x]).sum())
    matches = fx.replace_pattern(
        module, lambda a, b: t.cat([a, b]).sum(), lambda a, b: t.stack([b, a]).max()
    )
    assert len(matches) == 2
    assert targets(module) == [t.stack, t.stack, operator.add]
    x, y = t.tensor([1.0]), t.tensor([2.0])
    assert module(x, y).item() == 4
    module.graph.lint()


def test_matches_lead_to_nodes():
    module = fx.symbolic_trace(lambda x: t.relu(x.sin()))
    (match,) = fx.replace_pattern(module, lambda a: t.relu(a), lambda a: t.tanh(a))
    assert match.anchor.name == "relu"
    assert {p.name: n.name for p, n in match.nodes_map.items()} == {"a": "sin", "relu": "relu"}


def test_chained_places():
    module = fx.symbolic_trace(lambda x: t.relu(t.relu(t.relu(x))))
    fx.replace_pattern(module, lambda a: t.relu(a), lambda a: t.neg(a))
    assert targets(module) == [t.neg] * 3
    assert module(t.ones(1)).item() == -1


def test_values_used_elsewhere_protect_a_place():
    def program(x):
        y = t.sin(x)
        return t.cos(y) + y

    module = fx.symbolic_trace(program)
    assert not fx.replace_pattern(module, lambda a: t.cos(t.sin(a)), lambda a: a)
    assert t.sin in targets(module)


def test_literals_must_agree():
    module = fx.symbolic_trace(lambda x: t.add(x, 2))
    assert not fx.replace_pattern(module, lambda a: t.add(a, 3), lambda a: a)
    assert fx.replace_pattern(module, lambda a: t.add(a, 2), lambda a: t.neg(a))
    module = fx.symbolic_trace(lambda x: t.add(x, 2))
    replaced = rewriter.replace_pattern_with_filters(
        module, lambda a: t.add(a, 3), lambda a: t.neg(a), ignore_literals=True
    )
    assert len(replaced) == 1 and [n.name for n in replaced[0].replacements] == ["neg"]


def test_arguments_stand_for_literals():
    module = fx.symbolic_trace(lambda x, y: t.add(x, 2) * t.add(x, y))
    assert len(fx.replace_pattern(module, lambda a, b: t.add(a, b), lambda a, b: t.sub(a, b))) == 2
    assert module(t.tensor(5.0), t.tensor(1.0)).item() == 12


def test_filters_choose():
    module = fx.symbolic_trace(lambda x, y: t.relu(x) + t.relu(y))

    def is_of_y(match, original, pattern):
        return match.placeholder_nodes[0].name == "y"

    rewriter.replace_pattern_with_filters(module, t_relu, t_neg, [is_of_y])
    assert targets(module) == [t.relu, t.neg, operator.add]


def t_relu(a):
    return t.relu(a)


def t_neg(a):
    return t.neg(a)


def test_callbacks_make_replacements():
    module = fx.symbolic_trace(lambda x: t.relu(x) + t.relu(x + 1))
    made = iter([t.sin, t.cos])

    def replacement(match, original, pattern):
        graph, function = fx.Graph(), next(made)
        graph.output(graph.call_function(function, (graph.placeholder("a"),)))
        return graph

    rewriter.replace_pattern_with_filters(module, t_relu, replacement_callback=replacement)
    assert {t.sin, t.cos} <= set(targets(module))


def test_several_results():
    def pattern(x):
        y = t.relu(x)
        return y + 1, y * 2

    def replacement(x):
        y = t.abs(x)
        return y - 1, y / 2

    module = fx.symbolic_trace(lambda x: pattern(x))
    assert len(fx.replace_pattern(module, pattern, replacement)) == 1
    assert [v.item() for v in module(t.tensor(4.0))] == [3, 2]


def test_modules_and_attributes_of_the_replacement():
    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.weight = nn.Parameter(t.ones(2))

        def forward(self, a):
            return self.linear(a) * self.weight

    module = fx.symbolic_trace(lambda x: t.relu(x) + 1)
    replacement = fx.symbolic_trace(Replacement())
    fx.replace_pattern(module, t_relu, replacement)
    x = t.randn(1, 2)
    assert t.equal(module(x), replacement(x) + 1)


def test_counts_must_agree():
    module = fx.symbolic_trace(lambda x: t.relu(x))
    with pytest.raises(AssertionError):
        fx.replace_pattern(module, t_relu, lambda a, b: a + b)


def test_a_pattern_has_steps():
    traced = fx.symbolic_trace(lambda x: x + 1)
    before = traced.code
    with pytest.raises(AssertionError):
        fx.replace_pattern(traced, lambda x: x, lambda x: x * 2)
    if NAME == "taeda":
        assert traced.code == before


def test_matcher():
    pattern = fx.symbolic_trace(lambda x: t.relu(x) + x).graph
    graph = fx.symbolic_trace(
        lambda a, b: (t.relu(a) + a) * (t.relu(b) + a) - (t.relu(b) + b)
    ).graph
    matches = matcher_utils.SubgraphMatcher(pattern).match(graph)
    assert [{p.name: n.name for p, n in m.nodes_map.items()} for m in matches] == [
        {"add": "add", "relu": "relu", "x": "a"},
        {"add": "add_2", "relu": "relu_2", "x": "b"},
    ]
    assert [m.returning_nodes[0].name for m in matches] == ["add", "add_2"]
    empty = fx.Graph()
    with pytest.raises(ValueError, match="cannot be initialized with an empty pattern"):
        matcher_utils.SubgraphMatcher(empty)


def test_matching_whole_graphs():
    first = fx.symbolic_trace(lambda x, y: t.relu(x) + y).graph
    second = fx.symbolic_trace(lambda a, b: t.relu(a) + b).graph
    third = fx.symbolic_trace(lambda a, b: t.relu(a) - b).graph
    whole = matcher_utils.SubgraphMatcher(first, match_output=True, match_placeholder=True)
    assert len(whole.match(second)) == 1 and not whole.match(third)
