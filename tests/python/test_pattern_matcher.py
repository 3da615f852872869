"""Patterns, replacements and lowerings of a program's own, under PyTorch's names."""

import importlib

import pytest
from taeda._dynamo.utils import counters
from taeda._inductor import compile, config, lowering, pattern_matcher
from taeda._inductor.exc import LoweringException
from taeda._inductor.pattern_matcher import (
    Arg,
    CallFunction,
    PatternMatcherPass,
    fwd_only,
    gen_register_replacement,
    joint_fwd_bwd,
    register_graph_pattern,
    register_replacement,
)
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t

aten = t.ops.aten


# ---- the same programs in PyTorch ----


def double_negation(T, p, found):
    pattern = p.CallFunction(
        T.ops.aten.neg.default, p.CallFunction(T.ops.aten.neg.default, p.Arg())
    )

    @p.register_graph_pattern(pattern, pass_dict=found)
    def gone(match, x):
        match.output_node().replace_all_uses_with(x)
        match.erase_nodes()

    return lambda x, y: x.neg().neg() + y.neg(), 1


def shared_argument(T, p, found):
    x = p.KeywordArg("x")
    pattern = p.CallFunction(T.ops.aten.mul.Tensor, p.CallFunction(T.ops.aten.sin.default, x), x)

    @p.register_graph_pattern(pattern, pass_dict=found)
    def replaced(match, x):
        match.replace_by_example(lambda x: T.cos(x), [x])

    return lambda x, y: x.sin() * x + x.sin() * y, 1


def several_users(T, p, found):
    inner = p.CallFunction(T.ops.aten.exp.default, p.Arg(), _users=p.MULTIPLE)
    pattern = p.CallFunction(T.ops.aten.sin.default, inner)
    once = p.CallFunction(T.ops.aten.cos.default, p.CallFunction(T.ops.aten.exp.default, p.Arg()))
    for each in (pattern, once):

        @p.register_graph_pattern(each, pass_dict=found)
        def replaced(match, x):
            match.replace_by_example(lambda x: x.abs(), [x])

    def f(x, y):
        e = x.exp()
        return e.sin() + e.cos() + y

    return f, 1


def checked(T, p, found):
    def is_vector(match):
        return match.output_node().meta["val"].dim() == 1

    @p.register_graph_pattern(
        p.CallFunction([T.ops.aten.sin.default, T.ops.aten.cos.default], p.Arg()),
        extra_check=is_vector,
        pass_dict=found,
    )
    def replaced(match, x):
        match.replace_by_example(lambda x: x * 2, [x])

    return lambda x, y: x.sin() + x.sum(0).cos() + y.sum(1).sin().sum(), 2


def constants(T, p, found):
    @p.register_graph_pattern(
        p.CallFunction(T.ops.aten.mul.Tensor, p.KeywordArg("x"), 2), pass_dict=found
    )
    def replaced(match, x):
        match.replace_by_example(lambda x: x + x, [x])

    return lambda x, y: x * 2 + y * 3, 1


def lists(T, p, found):
    pattern = p.CallFunction(
        T.ops.aten.cat.default,
        p.ListOf(p.CallFunction(T.ops.aten.relu.default, p.Arg())),
    )

    @p.register_graph_pattern(pattern, pass_dict=found)
    def replaced(match, items):
        match.replace_by_example(lambda *a: T.relu(T.cat(a)), [x[0] for x in items])

    return lambda x, y: T.cat([x.relu(), y.relu()]) + T.cat([x.relu(), y]), 1


def replacement(T, p, found):
    p.register_replacement(
        lambda x, y: T.relu(x) * y + x,
        lambda x, y: T.where(x > 0, x * y + x, x),
        [T.randn(3, 4), T.randn(3, 4)],
        p.fwd_only,
        found,
    )
    return lambda x, y: (T.relu(x) * y + x) + (T.relu(x) * y + y), 1


def replacement_with_sizes(T, p, found):
    p.register_replacement(
        lambda x: x.reshape(x.shape[0] * x.shape[1]).sin(),
        lambda x: x.reshape(x.shape[0] * x.shape[1]).cos(),
        [T.randn(3, 4)],
        p.fwd_only,
        found,
    )
    return lambda x, y: x.reshape(30).sin() + y.reshape(3, 10).sin().sum(), 1


def replacement_with_numbers(T, p, found):
    p.register_replacement(
        lambda x, scale: T.sin(x) * scale,
        lambda x, scale: T.cos(x) * scale,
        [T.randn(3, 4)],
        p.fwd_only,
        found,
        scalar_workaround={"scale": 0.1234},
    )
    return lambda x, y: x.sin() * 7.5 + y, 1


def replacement_of_two_results(T, p, found):
    p.register_replacement(
        lambda x: (x.sin(), x.cos()),
        lambda x: (x.exp(), x.abs()),
        [T.randn(3, 4)],
        p.fwd_only,
        found,
    )
    return lambda x, y: x.sin() + x.cos() * y, 1


def replacement_by_vote(T, p, found):
    p.register_replacement(
        lambda x: x.sin(),
        lambda x: x.cos(),
        [T.randn(3, 4)],
        p.fwd_only,
        found,
        extra_check=lambda match: match.kwargs["x"].meta["val"].shape[0] == 5,
    )
    return lambda x, y: x.sin() + y.sum(1, keepdim=True).t().sin().sum(), 1


PROGRAMS = [
    double_negation,
    shared_argument,
    several_users,
    checked,
    constants,
    lists,
    replacement,
    replacement_with_sizes,
    replacement_with_numbers,
    replacement_of_two_results,
    replacement_by_vote,
]


def rewritten(T, program, numbers):
    """How often the pass found something, what is called behind it, and the result."""
    p = importlib.import_module(f"{T.__name__}._inductor.pattern_matcher")
    trace = importlib.import_module(f"{T.__name__}.fx.experimental.proxy_tensor").make_fx
    found = p.PatternMatcherPass()
    f, expected = program(T, p, found)
    inputs = [T.tensor(values) for values in numbers]
    gm = trace(f, tracing_mode="fake")(*inputs)
    count = found.apply(gm.graph)
    assert count == expected
    gm.graph.lint()
    gm.graph.eliminate_dead_code()
    gm.recompile()
    calls = sorted(str(node.target) for node in gm.graph.nodes if node.op == "call_function")
    return [call.removeprefix(f"{T.__name__}.ops.") for call in calls], gm(*inputs).tolist()


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_rewritten_as_in_pytorch(torch, program):
    numbers = t.randn(2, 5, 6).tolist()
    ours, theirs = (rewritten(T, program, numbers) for T in (t, torch))
    assert sorted(call.split(".")[-2:] for call in ours[0]) == sorted(
        call.split(".")[-2:] for call in theirs[0]
    )
    t.testing.assert_close(t.tensor(ours[1]), t.tensor(theirs[1]))


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_find_what_they_look_for(program):
    rewritten(t, program, t.randn(2, 5, 6).tolist())


# ---- in the compiler ----


def test_a_pass_of_patterns_before_lowering():
    found = PatternMatcherPass()

    @register_graph_pattern(
        CallFunction(aten.neg.default, CallFunction(aten.neg.default, Arg())), pass_dict=found
    )
    def doubled(match, x):
        match.replace_by_example(lambda x: x * 2, [x])

    x = t.randn(5)
    graph = make_fx(lambda v: v.neg().neg() + 1, tracing_mode="symbolic")(x)
    with config.patch(post_grad_custom_pre_pass=found.apply):
        compiled = compile(graph, [x], native="never")
    for size in (5, 9):
        x = t.randn(size)
        assert t.equal(compiled(x), x * 2 + 1)


def test_a_replacement_in_a_joint_graph_has_its_own_gradient():
    found = PatternMatcherPass()
    register_replacement(
        lambda x, w: t.sigmoid(x @ w),
        lambda x, w: t.tanh(x @ w),
        [t.randn(3, 4), t.randn(4, 2, requires_grad=True)],
        joint_fwd_bwd,
        found,
    )
    x, w = t.randn(5, 6), t.randn(6, 3, requires_grad=True)
    graph = make_fx(lambda a, b: t.sigmoid(a @ b), pre_dispatch=True)(x, w)
    with config.patch(joint_custom_pre_pass=found.apply):
        compiled = compile(graph, [x, w], native="never")
    wanted = t.tanh(x @ w)
    result = compiled(x, w)
    t.testing.assert_close(result, wanted)
    gradients = [t.autograd.grad(y.square().sum(), w)[0] for y in (result, wanted)]
    t.testing.assert_close(*gradients)


def test_a_replacement_must_give_as_many_results():
    found = PatternMatcherPass()
    register_replacement(
        lambda x: x.sin(), lambda x: (x.sin(), x.cos()), [t.randn(3)], fwd_only, found
    )
    gm = make_fx(lambda x: x.sin(), tracing_mode="fake")(t.randn(3))
    with pytest.raises(AssertionError, match="1 results are replaced by 2"):
        found.apply(gm.graph)


def test_what_is_no_graph_is_refused():
    with pytest.raises(RuntimeError, match="must be a GraphModule or a Graph"):
        PatternMatcherPass().apply(3)


def test_nothing_matches_across_a_write():
    found = PatternMatcherPass()
    pattern = CallFunction(
        aten.add.Tensor,
        CallFunction(aten.sin.default, Arg()),
        CallFunction(aten.cos.default, Arg()),
    )

    @register_graph_pattern(pattern, pass_dict=found)
    def never(match, x, y):
        raise AssertionError("a match")

    def f(x):
        sine = x.sin()
        x.mul_(2)
        return sine + x.cos()

    assert found.apply(make_fx(f)(t.randn(3)).graph) == 0


def test_nodes_are_sorted_and_otherwise_stay():
    gm = make_fx(lambda x: (x.sin() + 1, x.cos()))(t.randn(3))
    names = [node.name for node in gm.graph.nodes]
    sine = next(node for node in gm.graph.nodes if node.name == "sin")
    gm.graph.find_nodes(op="call_function", target=aten.cos.default)[0].append(sine)
    pattern_matcher.stable_topological_sort(gm.graph)
    gm.graph.lint()
    assert sorted(node.name for node in gm.graph.nodes) == sorted(names)


# ---- lowerings ----


@pytest.fixture
def library():
    with t.library._scoped_library("pattern_matcher_test", "DEF") as made:
        made.define("scaled(Tensor x, float by) -> Tensor")
        made.impl("scaled", lambda x, by: x * by, "CompositeExplicitAutograd")
        t.library.register_fake(
            "pattern_matcher_test::scaled", lambda x, by: t.empty_like(x), lib=made
        )
        yield t.ops.pattern_matcher_test.scaled
    lowering.lowerings.clear()
    lowering.fallbacks.clear()


def called(f, *inputs):
    compiled = compile(make_fx(f)(*inputs), list(inputs), native="never")
    (report,) = compiled.report()
    return compiled, report["kernels"], [name.split("::")[-1] for name in report["called"]]


def test_a_lowering_of_a_programs_own_operator(library):
    x = t.randn(4, 5)

    def f(v):
        return library(v.sin(), 3.0).exp()

    _, kernels, names = called(f, x)
    assert kernels == 2 and [name.split(".")[0] for name in names] == ["scaled"]

    @lowering.register_lowering(library)
    def scaled(x, by):
        return lowering.lowerings[aten.mul.Tensor](x, by)

    compiled, kernels, names = called(f, x)
    assert (kernels, names) == (1, [])
    t.testing.assert_close(compiled(x), f(x))


def test_a_lowering_may_call_its_own_operator(library):
    x = t.randn(4)
    lowering.register_lowering(aten.sin.default)(lambda x: aten.sin.default(x) * 2)
    compiled, kernels, names = called(lambda v: v.sin() + 1, x)
    assert (kernels, names) == (1, [])
    t.testing.assert_close(compiled(x), x.sin() * 2 + 1)


def test_a_fallback_is_called(library):
    x = t.randn(4)
    lowering.make_fallback(aten.sin)
    compiled, kernels, names = called(lambda v: (v + 1).sin() * 2, x)
    assert (kernels, names) == (2, ["sin"])
    assert t.equal(compiled(x), (x + 1).sin() * 2)
    lowering.register_lowering(aten.sin.default)(lambda x: x.cos())
    compiled, _, names = called(lambda v: (v + 1).sin() * 2, x)
    assert names == []
    t.testing.assert_close(compiled(x), (x + 1).cos() * 2)


def test_a_lowering_of_an_operator_with_several_results(library):
    x = t.randn(3, 4)

    @lowering.register_lowering(aten.var_mean.correction)
    def var_mean(x, dim=None, correction=None, keepdim=False):
        return x.sum(dim), x.sum(dim) * 2

    compiled, _, names = called(lambda v: t.var_mean(v, 1), x)
    assert names == []
    t.testing.assert_close(compiled(x)[0], x.sum(1))
    t.testing.assert_close(compiled(x)[1], x.sum(1) * 2)
    compiled, _, _ = called(lambda v: t.var_mean(v, 1)[1] + 1, x)
    t.testing.assert_close(compiled(x), x.sum(1) * 2 + 1)


def test_a_lowering_of_an_operator_that_gives_a_list(library):
    x = t.randn(4)
    with t.library._scoped_library("pattern_matcher_lists", "DEF") as made:
        made.define("both(Tensor x) -> Tensor[]")
        made.impl("both", lambda x: [x * 2, x + 1], "CompositeExplicitAutograd")
        t.library.register_fake(
            "pattern_matcher_lists::both", lambda x: [t.empty_like(x), t.empty_like(x)], lib=made
        )
        both = t.ops.pattern_matcher_lists.both
        lowering.register_lowering(both)(lambda x: [x * 2, x + 1])
        for f in (lambda v: both(v)[1] + 1, lambda v: t.cat(both(v))):
            compiled, kernels, names = called(f, x)
            assert (kernels, names) == (1, [])
            t.testing.assert_close(compiled(x), f(x))


def test_a_lowering_that_gives_an_operand(library):
    x = t.randn(4)
    for given in (lambda x: x, lambda x: x.view(2, 2).view(4)):
        lowering.register_lowering(aten.tanh.default)(given)
        compiled, _, _ = called(lambda v: v.tanh(), x)
        result = compiled(x)
        assert t.equal(result, x) and result.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda x: 5, TypeError, "gave 5, expected a tensor"),
        (lambda x: x.sum(0), RuntimeError, r"gave a tensor of \(4,\).*expected \(3, 4\)"),
        (lambda x: x.double(), RuntimeError, "float64.*expected"),
        (lambda x: (x, x), TypeError, "expected a tensor"),
        (lambda x: {}[x.dim()], KeyError, "2"),
    ],
)
def test_lowerings_that_give_something_else(library, given, error, words):
    lowering.register_lowering(aten.tanh.default)(given)
    with pytest.raises(LoweringException, match=words) as caught:
        called(lambda v: v.tanh() * 2, t.randn(3, 4))
    assert type(caught.value.__cause__) is type(caught.value.inner_exception) is error


def test_lowerings_and_writes(library):
    @lowering.register_lowering(aten.tanh.default)
    def lower(x):
        x.mul_(2)
        return x.clone()

    with pytest.raises(LoweringException, match="writes to an argument"):
        t.compile(lambda v: v.tanh())(t.randn(3))
    with t.library._scoped_library("pattern_matcher_writes", "DEF") as made:
        made.define("grow(Tensor(a!) x) -> ()")
        made.impl("grow", lambda x: x.add_(1), "CPU")
        grow = t.ops.pattern_matcher_writes.grow
        lowering.register_lowering(grow)(lambda x: x.add_(1))
        with pytest.raises(LoweringException, match="writes to its arguments; such operators"):
            t.compile(lambda v: (grow(v), v * 2)[1])(t.randn(3))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_lowering_that_makes_a_tensor_of_a_size(library, dynamic, monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "0")  # of a symbol it is not compiled yet
    with t.library._scoped_library("pattern_matcher_sizes", "DEF") as made:
        made.define("filled(Tensor x, SymInt n) -> Tensor")
        made.impl("filled", lambda x, n: x.new_full((n,), 2.0), "CPU")
        t.library.register_fake("pattern_matcher_sizes::filled", lambda x, n: x.new_empty(n))
        filled = t.ops.pattern_matcher_sizes.filled
        lowering.register_lowering(filled)(lambda x, n: aten.full.default([n], 2.0))
        compiled = t.compile(lambda v: filled(v, v.shape[0] * 2) + 1, dynamic=dynamic)
        for n in (3, 5):
            assert compiled(t.randn(n, 2)).tolist() == [3.0] * (2 * n)


@pytest.mark.parametrize("op", [aten.tanh.default, aten.tanh_backward.default])
def test_an_error_of_a_lowering_is_one_of_the_program(library, op, monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "0")

    @lowering.register_lowering(op)
    def lower(*args):
        raise ValueError("a lowering")

    words = f"LoweringException: ValueError: a lowering\n  target: {op}\n  args\\[0\\]: "
    for dynamic in (False, True):
        x = t.randn(3, 4, requires_grad=True)
        with pytest.raises(LoweringException, match=words):
            t.compile(lambda v: (v.tanh() * 2).sum(), dynamic=dynamic)(x).backward()


def test_what_is_no_operator_has_no_lowering():
    with pytest.raises(RuntimeError, match="Unsupported fallback"):
        lowering.make_fallback(len)
    with pytest.raises(KeyError):
        lowering.lowerings[len]


def test_a_lowering_that_gives_a_view_keeps_the_strides_of_the_operator(library, monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    x = t.randn(4, 5)
    with t.library._scoped_library("pattern_matcher_views", "DEF") as made:
        made.define("turned(Tensor x) -> Tensor")
        made.impl("turned", lambda x: x.t().contiguous(), "CompositeExplicitAutograd")
        shape = lambda x: x.new_empty(x.shape[1], x.shape[0])
        t.library.register_fake("pattern_matcher_views::turned", shape, lib=made)
        turned = t.ops.pattern_matcher_views.turned

        @lowering.register_lowering(turned)
        def lower(x):
            return lowering.lowerings[aten.permute.default](x, [1, 0])

        for dynamic in (False, True):
            out = t.compile(lambda x: turned(x.sin()), dynamic=dynamic)(x)
            assert out.stride() == (4, 1) and t.equal(out.view(-1), x.sin().t().reshape(-1))


def test_a_pattern_is_registered_once():
    found = PatternMatcherPass()
    args = (lambda x: x.sin().cos(), lambda x: x * 2, [t.empty(3)], fwd_only, found)
    assert register_replacement(*args, skip_duplicates=True)
    assert register_replacement(*args, skip_duplicates=True) is False
    assert sum(map(len, found.patterns.values())) == 1
    found.clear()
    assert register_replacement(*args, skip_duplicates=True)


def test_what_is_found_is_counted(library):
    found = PatternMatcherPass()
    pattern = CallFunction(aten.cos.default, CallFunction(aten.sin.default, Arg()))
    is_long = lambda match: match.args[0].meta["val"].shape[0] > 3

    @register_graph_pattern(pattern, extra_check=is_long, pass_dict=found)
    def leave(match, x):
        pass

    lowering.register_lowering(aten.exp.default)(lambda x: x * 2)
    counters.clear()
    with config.patch(post_grad_custom_pre_pass=found.apply):
        compiled = t.compile(lambda x: x.sin().cos().exp())
        compiled(t.randn(3))
        assert "inductor" not in counters
        compiled(t.randn(5))
    assert counters["inductor"] == {"pattern_matcher_count": 1, "pattern_matcher_nodes": 2}


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: t.nn.functional.layer_norm(x, (4,), w),
        lambda x, w: (x * w).max(1)[0],
        lambda x, w: t.topk(x + w, 2)[1].float(),
    ],
)
def test_operators_with_results_that_nobody_reads(f):
    x, w = t.randn(3, 4), t.randn(4)
    found = PatternMatcherPass()
    register_replacement(f, lambda x, w: f(x, w) * 0, [t.randn(2, 4), t.randn(4)], fwd_only, found)
    for dynamic in (False, True):
        with config.patch(post_grad_custom_pre_pass=found.apply):
            assert not t.compile(lambda x, w: f(x, w), dynamic=dynamic)(x, w).any()


def test_a_pattern_with_a_name():
    found = PatternMatcherPass()
    gen_register_replacement(
        "halves", lambda x: x.sin().cos(), lambda x: x / 2, [t.empty(3)], fwd_only, found
    )
    x = t.randn(4)
    with config.patch(post_grad_custom_pre_pass=found.apply):
        assert t.equal(compile(make_fx(lambda v: v.sin().cos())(x), [x])(x), x / 2)
