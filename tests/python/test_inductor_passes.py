"""Passes of a program: where they run, what they see, and what a wrong one costs."""

import pytest
from taeda._inductor import compile, config
from taeda._inductor.custom_graph_pass import CustomInferenceAwareGraphPass
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

aten = t.ops.aten


def _replace(old, new):
    """A pass that calls one operator instead of another."""

    def run(graph):
        for node in graph.find_nodes(op="call_function", target=old):
            node.target = new

    return run


def _gradient(f, x):
    return t.autograd.grad(f(x).sum(), x)[0]


@pytest.mark.parametrize("place", ["pre_grad_custom_pass", "post_grad_custom_pre_pass"])
def test_a_pass_of_inference(place):
    x = t.randn(4)
    graph = make_fx(lambda v: v.sin() * 2)(x)
    with config.patch(place, _replace(aten.sin.default, aten.cos.default)):
        compiled = compile(graph, [x], native="never")
    assert t.equal(compiled(x), x.cos() * 2)
    assert t.equal(graph(x), x.sin() * 2)  # the graph itself is as it was


def test_a_pass_before_gradients_changes_them():
    x = t.randn(4, requires_grad=True)
    graph = make_fx(lambda v: v.sin() * 2)(x)
    with config.patch(pre_grad_custom_pass=_replace(aten.sin.default, aten.exp.default)):
        compiled = compile(graph, [x], native="never")
    assert t.equal(_gradient(compiled, x), _gradient(lambda v: v.exp() * 2, x))


def test_passes_of_the_joint_graph_and_of_both_parts():
    x = t.randn(4, requires_grad=True)
    graph = make_fx(lambda v: v.sin() * 2)(x)
    seen = []

    def see(kind):
        return lambda graph: seen.append((kind, len(graph.find_nodes(op="placeholder"))))

    with config.patch(joint_custom_pre_pass=see("joint"), post_grad_custom_post_pass=see("part")):
        compile(graph, [x], native="never")
    assert seen == [("joint", 2), ("part", 1), ("part", 2)]
    with config.patch(joint_custom_post_pass=_replace(aten.cos.default, aten.exp.default)):
        compiled = compile(graph, [x], native="never")
    assert t.equal(compiled(x), x.sin() * 2)
    assert t.equal(_gradient(compiled, x), 2 * x.detach().exp())


@pytest.mark.parametrize("place", ["joint_custom_pre_pass", "joint_custom_post_pass"])
def test_passes_of_the_joint_graph_see_graphs_without_gradients(place):
    x = t.randn(4)
    with config.patch(place, _replace(aten.sin.default, aten.cos.default)):
        compiled = t.compile(lambda v: v.sin() * 2)
        assert t.equal(compiled(x), x.cos() * 2)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_pass_before_gradients_sees_the_functions_of_a_captured_program(requires_grad):
    x = t.randn(4, requires_grad=requires_grad)

    def use_exp(graph):
        for node in graph.nodes:
            if node.target == "sin":
                node.target = "exp"

    with config.patch(pre_grad_custom_pass=use_exp):
        compiled = t.compile(lambda v: v.sin() * 2)
        assert t.equal(compiled(x), x.exp() * 2)
        if requires_grad:
            assert t.equal(_gradient(compiled, x), _gradient(lambda v: v.exp() * 2, x))


def _negate_last(graph):
    """Inserts nodes without values before the results."""
    output = graph.output_node()
    results = output.args[0]
    with graph.inserting_before(output):
        negated = graph.call_function(aten.neg.default, (results[0],))
    output.args = ((negated, *results[1:]),)


@pytest.mark.parametrize("place", ["post_grad_custom_pre_pass", "joint_custom_pre_pass"])
def test_a_pass_may_insert_nodes(place):
    x = t.randn(4, requires_grad=place.startswith("joint"))
    graph = make_fx(lambda v: (v.sin() * 2,))(x)
    with config.patch(place, _negate_last):
        compiled = compile(graph, [x], native="never")
    assert t.equal(compiled(x)[0], -(x.sin() * 2))


def _without_results(graph):
    graph.output_node().args = ((),)


def _without_output(graph):
    graph.erase_node(graph.output_node())


def _with_an_input(graph):
    with graph.inserting_before(next(iter(graph.nodes))):
        graph.placeholder("more")


@pytest.mark.parametrize("broken", [_without_results, _without_output, _with_an_input])
@pytest.mark.parametrize("place", ["post_grad_custom_pre_pass", "joint_custom_post_pass"])
def test_inputs_and_results_stay(place, broken):
    x = t.randn(4, requires_grad=True)
    graph = make_fx(lambda v: (v.sin() * 2,))(x)
    with (
        config.patch(place, broken),
        pytest.raises(RuntimeError, match="a pass changed the number"),
    ):
        compile(graph, [x], native="never")


def _with_the_value_of_another(graph):
    """Puts a product behind the sum, with all that the sum says of itself."""
    for node in graph.find_nodes(op="call_function", target=aten.add.Tensor):
        with graph.inserting_after(node):
            product = graph.call_function(aten.mul.Tensor, (node, 3))
        node.replace_all_uses_with(
            product, delete_user_cb=lambda user, own=product: user is not own
        )
        product.meta.update(node.meta)


@pytest.mark.parametrize("place", ["post_grad_custom_post_pass", "joint_custom_post_pass"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_new_node_with_the_value_of_another(place, requires_grad):
    x = t.randn(4, requires_grad=requires_grad)
    graph = make_fx(lambda v: (v.sin() + 1).view(2, 2))(x)
    with config.patch(place, _with_the_value_of_another):
        compiled = compile(graph, [x], native="never")
    assert t.equal(compiled(x), ((x.sin() + 1) * 3).view(2, 2))


def _of_rows(graph):
    for node in graph.find_nodes(op="call_function", target=aten.sum.dim_IntList):
        node.args = (node.args[0], [1])


def _of_doubles(graph):
    for node in graph.find_nodes(op="call_function", target=aten.sum.dim_IntList):
        node.kwargs = {"dtype": t.float64}


@pytest.mark.parametrize(
    "change, want",
    [
        (_replace(aten.sin.default, aten.isnan.default), lambda v: v.isnan().sum(0) * 2),
        (_of_rows, lambda v: v.sin().sum(1) * 2),
        (_of_doubles, lambda v: v.sin().sum(0, dtype=t.float64) * 2),
    ],
    ids=["operator", "sizes", "dtype"],
)
@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_values_follow_what_a_pass_changes(change, want, mode):
    x = t.randn(4, 6)
    graph = make_fx(lambda v: v.sin().sum(0) * 2, tracing_mode=mode)(x)
    with config.patch(post_grad_custom_post_pass=change):
        compiled = compile(graph, [x], native="never")
    got, wanted = compiled(x), want(x)
    assert got.dtype == wanted.dtype and t.equal(got, wanted)


def test_a_list_of_passes():
    x = t.randn(4)
    graph = make_fx(lambda v: v.sin() * 2)(x)
    passes = [_replace(aten.sin.default, aten.cos.default), _negate_last]
    with config.patch(post_grad_custom_pre_pass=passes, joint_custom_pre_pass=()):
        compiled = compile(make_fx(lambda v: (v.sin() * 2,))(x), [x], native="never")
    assert t.equal(compiled(x)[0], -(x.cos() * 2))
    with config.patch(pre_grad_custom_pass=passes[:1]):
        assert t.equal(compile(graph, [x], native="never")(x), x.cos() * 2)


def test_a_pass_that_is_told_of_inference():
    seen = []

    class Seen(CustomInferenceAwareGraphPass):
        def __call__(self, graph, is_inference):
            seen.append(is_inference)

        def uuid(self):
            return None

    with config.patch(post_grad_custom_pre_pass=Seen()):
        for requires_grad in (False, True):
            x = t.randn(4, requires_grad=requires_grad)
            compile(make_fx(lambda v: v.sin() * 2)(x), [x], native="never")
    assert seen == [True, False, False]


def test_nodes_are_put_in_order():
    x = t.randn(4)
    graph = make_fx(lambda v: v.sin() * 2)(x)

    def use_before_definition(graph):
        first, last = list(graph.nodes)[1:3]
        last.append(first)

    with config.patch(post_grad_custom_pre_pass=use_before_definition):
        assert t.equal(compile(graph, [x], native="never")(x), x.sin() * 2)


def test_a_graph_that_a_pass_broke_is_refused():
    x = t.randn(4)
    graph = make_fx(lambda v: v.sin() * 2)(x)

    def close_a_cycle(graph):
        first, last = list(graph.nodes)[1:3]
        first.args = (last,)

    with (
        config.patch(post_grad_custom_pre_pass=close_a_cycle),
        pytest.raises(RuntimeError, match="the graph has a cycle"),
    ):
        compile(graph, [x], native="never")
    with pytest.raises(AttributeError, match="no_such_setting does not exist"):
        config.no_such_setting = 1
    with config.patch(native="sometimes"), pytest.raises(ValueError, match="native is"):
        compile(graph, [x])
