"""Marks of functions and modules: disabled, forbidden in graphs, one node, substituted."""

import importlib

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
dynamo = importlib.import_module(f"{NAME}._dynamo")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
CompileCounter = importlib.import_module(f"{NAME}._dynamo.testing").CompileCounter
compiler = t.compiler

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="asks for Taeda's own answers, too")

X = t.ones(2, 3)


@pytest.fixture(autouse=True)
def _fresh():
    counters.clear()
    yield
    compiler.set_stance("default")
    dynamo.reset()


def test_disable_wraps_and_reaches_inside():
    count = CompileCounter()

    def inner(x):
        return x + 1

    def outer(x):
        return inner(x) * 2

    off = dynamo.disable(outer, reason="slow")
    assert off is not outer and off.__name__ == "outer"
    assert off._torchdynamo_disable_msg == "slow" and dynamo.is_dynamo_disable_recursive(off)
    calls_off = t.compile(lambda x: off(x), backend=count)
    assert t.equal(calls_off(X), (X + 1) * 2) and count.frame_count == 0
    t.compile(outer, backend=count)(X)
    assert count.frame_count == 1  # the scope is over
    near = dynamo.disable(outer, recursive=False)
    assert dynamo.is_dynamo_disable_recursive(near) is False
    near(X)
    assert dynamo.is_dynamo_disable_recursive(outer) is None
    with pytest.raises(AssertionError, match="fn must be callable"):
        dynamo.disable(3)


@pytest.mark.parametrize("recursive", [True, False])
def test_compiled_functions_are_compiled_inside_of_disabled_ones(recursive):
    inside, around = CompileCounter(), CompileCounter()

    def add(x):
        return x + 1

    inner = t.compile(lambda x: add(x) * 2, backend=inside)

    def outer(x):
        return inner(x)

    off = dynamo.disable(outer, recursive=recursive)
    assert t.equal(off(X), (X + 1) * 2) and inside.frame_count == 1
    dynamo.reset()
    assert t.equal(t.compile(lambda x: off(x * 2) * 3, backend=around)(X), (X * 2 + 1) * 6)
    assert (inside.frame_count, inside.op_count, around.frame_count) == (2, 4, 2)


def test_disabled_modules_and_classes():
    model = nn.Linear(3, 3)
    off = compiler.disable(model)
    assert t.equal(off(X), model(X)) and next(iter(off.state_dict())) == "_orig_mod.weight"

    @compiler.disable
    class Left(nn.Module):
        def forward(self, x):
            return x + 1

    count = CompileCounter()
    left = Left()
    f = t.compile(lambda x: left(x * 2) * 3, backend=count)
    assert t.equal(f(X), X * 9) and count.frame_count == 2


def test_run_uses_what_is_there():
    count = CompileCounter()
    f = t.compile(lambda x: x + 1, backend=count)
    only = dynamo.run(f)
    only(X)
    assert count.frame_count == 0
    f(X)
    only(X)
    only(t.ones(9))
    assert count.frame_count == 1


def test_disallow_in_graph_wants_operators():
    def plain(x):
        return x

    with pytest.raises(RuntimeError, match="already allowed callable"):
        dynamo.disallow_in_graph(plain)
    with pytest.raises(AssertionError, match="expects a callable"):
        dynamo.allow_in_graph(3)
    count = CompileCounter()
    dynamo.disallow_in_graph(t.special.ndtri)
    try:
        f = t.compile(lambda x: t.special.ndtri(x * 0.5) + 1, backend=count)
        f(X)
        assert count.frame_count == 2
    finally:
        dynamo.allow_in_graph(t.special.ndtri)


def test_forbidden_functions_break():
    @dynamo.forbid_in_graph
    def only_outside(x):
        return x + 1

    assert only_outside._dynamo_forbidden
    count = CompileCounter()
    f = t.compile(lambda x: only_outside(x * 2) * 3, backend=count)
    assert t.equal(f(X), X * 9) and count.frame_count == 2


def test_substitutes_are_entered():
    def original(x, scale=2):
        raise AssertionError("captures enter the other")

    with pytest.raises(TypeError, match="Signature mismatch"):

        @compiler.substitute_in_graph(original)
        def wrong(x, factor):
            return x

    @compiler.substitute_in_graph(original)
    def traced(x, scale=2):
        return x * scale

    f = t.compile(lambda x: original(x, 3), backend="eager", fullgraph=True)
    assert t.equal(f(X), X * 3)
    with pytest.raises(ValueError, match="Duplicate"):
        compiler.substitute_in_graph(original)(traced)
    with pytest.raises(TypeError, match="expects a function"):
        compiler.substitute_in_graph(3)


def test_nonstrict_trace_is_one_node():
    @dynamo.nonstrict_trace
    def several(x):
        return (x + 1) * 2 - 3

    graphs = []

    def keep(gm, inputs):
        graphs.append([n.target for n in gm.graph.nodes if n.op.startswith("call")])
        return gm.forward

    f = t.compile(lambda x: several(x).relu(), backend=keep)
    assert t.equal(f(X), several(X).relu())
    assert len(graphs) == 1 and len(graphs[0]) == 2


def breaks(x):
    y = x + 1
    dynamo.graph_break()
    return y * 2


def test_errors_at_breaks_around_and_inside():
    f = t.compile(breaks, backend="eager")
    refused = pytest.raises(dynamo.exc.Unsupported, match="graph_break")
    with dynamo.error_on_graph_break(True), refused:
        f(X)
    f = t.compile(breaks, backend="eager")
    assert t.equal(f(X), (X + 1) * 2)

    @dynamo.error_on_graph_break(True)
    def inner(x):
        return breaks(x)

    def outer(x, strict):
        return inner(x) if strict else breaks(x)

    g = t.compile(outer, backend="eager")
    assert t.equal(g(X, False), (X + 1) * 2)
    with pytest.raises(dynamo.exc.Unsupported, match="graph_break"):
        t.compile(outer, backend="eager")(X, True)

    def relaxed(x):
        with dynamo.error_on_graph_break(False):
            x = breaks(x)
        return x + 1

    with dynamo.error_on_graph_break(True):
        assert t.equal(t.compile(relaxed, backend="eager")(X), (X + 1) * 2 + 1)
        with pytest.raises(dynamo.exc.Unsupported):
            t.compile(breaks, backend="eager")(X)
    assert t.equal(t.compile(breaks, backend="eager")(X), (X + 1) * 2)


def test_an_error_at_a_break_shows_line_and_hint():
    with pytest.raises(dynamo.exc.Unsupported) as caught:
        t.compile(breaks, backend="eager", fullgraph=True)(X)
    text = str(caught.value)
    assert "Hint: " in text and "in breaks" in text and "    dynamo.graph_break()" in text


def test_patches_of_the_config():
    with pytest.raises(ValueError, match="does not support patching config recompile_limit"):
        dynamo.patch_dynamo_config(recompile_limit=3)
    with pytest.raises(ValueError, match="non-safe-constant value"):
        dynamo.patch_dynamo_config(verbose=[])

    def item(x):
        return x * x.sum().item()

    @dynamo.patch_dynamo_config(capture_scalar_outputs=True)
    def patched(x):
        return t.compile(item, backend="eager", fullgraph=True)(x)

    assert t.equal(patched(X), X * 6)
    assert not dynamo.config.capture_scalar_outputs
    with dynamo.dont_skip_tracing():
        assert dynamo.config.dont_skip_tracing
    assert not dynamo.config.dont_skip_tracing
    with dynamo.override_cudagraphs(fwd=False):
        pass


def test_marks_of_addresses():
    x = t.ones(2)
    dynamo.mark_static_address(x, guard=True)
    assert x._dynamo_static_input_type == "guarded"
    with pytest.raises(TypeError, match="expects a tensor"):
        dynamo.mark_static_address(3)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


@pytest.fixture
def _points():
    pytree = importlib.import_module(f"{NAME}.utils._pytree")
    pytree.register_pytree_node(Point, lambda p: ((p.x, p.y), ()), lambda parts, _: Point(*parts))
    yield
    pytree._deregister_pytree_node(Point)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.usefixtures("_points")
def test_nonstrict_trace_takes_and_gives_classes_of_pytrees(backend):
    @dynamo.nonstrict_trace
    def moved(points, by):
        dynamo.graph_break()
        first = points["first"]
        return [Point(first.x + by, first.y * 2), None]

    def program(point, x, by):
        point.x = point.x + 1
        result, nothing = moved({"first": point, "second": [Point(x, x)]}, by=by)
        return result.x * result.y, nothing, point.x

    compiled = t.compile(program, backend=backend, fullgraph=True)
    for by in (1, 2.5, 3.5):
        mine, plain = Point(X, X * 3), Point(X, X * 3)
        (got, _, x), (want, _, y) = compiled(mine, X, by), program(plain, X, by)
        assert t.equal(got, want) and t.equal(x, y) and t.equal(mine.x, plain.x)


@pytest.mark.usefixtures("_points")
def test_nonstrict_trace_of_methods_and_inside():
    class Shift(Point):
        @dynamo.nonstrict_trace
        def apply(self, x):
            dynamo.graph_break()
            return x + self.x

    pytree = importlib.import_module(f"{NAME}.utils._pytree")
    pytree.register_pytree_node(Shift, lambda p: ((p.x, p.y), ()), lambda p, _: Shift(*p))

    def doubled(x):
        dynamo.graph_break()
        return x * 2

    def program(x, n):
        return dynamo.nonstrict_trace(doubled)(Shift(n, 0).apply(x))

    compiled = t.compile(program, backend="aot_eager", fullgraph=True)
    assert t.equal(compiled(X, 42), (X + 42) * 2)
    pytree._deregister_pytree_node(Shift)


def test_nonstrict_trace_refuses_functions_that_hold_values():
    def program(x):
        y = x + 1

        def around(z):
            return z + y

        return dynamo.nonstrict_trace(around)(x)

    with pytest.raises(dynamo.exc.Unsupported, match="function made inside"):
        t.compile(program, backend="eager", fullgraph=True)(X)
