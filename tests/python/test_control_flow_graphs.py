"""Control flow that make_fx records: nodes, graphs of functions, gradients, transforms."""

import pytest
from taeda._higher_order_ops import associative_scan, map, scan, while_loop
from taeda.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_leaves

import taeda

X = taeda.tensor([1.0, 2.0, 3.0])
Y = taeda.tensor([0.5, 0.6, 0.7])
MODES = ["real", "fake"]


def check(f, *args, mode, others=()):
    """Traces `f` and compares it with its graph on these arguments and on others."""
    module = make_fx(f, tracing_mode=mode)(*args)
    module.graph.lint()
    for given in (args, *others):
        pairs = zip(tree_leaves(f(*given)), tree_leaves(module(*given)), strict=True)
        assert all(taeda.allclose(taeda.as_tensor(a), taeda.as_tensor(b)) for a, b in pairs)
    return module


def operators(module):
    """Names of the operators that take functions, in order."""
    higher = taeda._ops.HigherOrderOperator
    return [node.target.name() for node in module.graph.nodes if isinstance(node.target, higher)]


def body(module):
    lines = [line.strip() for line in module.code.splitlines()]
    return [line.split(";")[0] for line in lines if line and not line.startswith("def")]


def branch(x, y):
    """Both branches take y from around them."""
    return taeda.cond(x.sum() > 0, lambda a: a.sin() * y, lambda a: a + y, (x,))


@pytest.mark.parametrize("mode", MODES)
def test_a_branch_is_one_node_and_two_graphs(mode):
    module = check(branch, X, Y, mode=mode, others=[(-X, Y)])
    assert body(module)[2:] == [
        "true_graph_0 = self.true_graph_0",
        "false_graph_0 = self.false_graph_0",
        "cond = taeda.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x_1, y_1))",
        "getitem = cond[0]",
        "return getitem",
    ]
    assert body(module.true_graph_0) == [
        "sin = taeda.ops.aten.sin.default(arg0_1)",
        "mul = taeda.ops.aten.mul.Tensor(sin, arg1_1)",
        "return (mul,)",
    ]
    assert body(module.false_graph_0) == [
        "add = taeda.ops.aten.add.Tensor(arg0_1, arg1_1)",
        "return (add,)",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_branches_inside_branches(mode):
    def f(x, y):
        def inner(a):
            return taeda.cond(a.sum() > 7, lambda b: b * y, lambda b: b - y, (a,))

        return taeda.cond(x.sum() > 0, inner, lambda a: a.cos(), (x,))

    module = check(f, X, Y, mode=mode, others=[(2 * X, Y), (-X, Y)])
    assert operators(module) == ["cond"]
    assert operators(module.true_graph_0) == ["cond"] and operators(module.false_graph_0) == []


@pytest.mark.parametrize("mode", MODES)
def test_loops_and_scans(mode):
    def looped(x, y):
        start = taeda.zeros((), dtype=taeda.int64)
        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * y), (start, x))

    module = check(looped, X, Y, mode=mode)
    assert operators(module) == ["while_loop"]
    assert {"while_loop_cond_graph_0", "while_loop_body_graph_0"} <= dict(
        module.named_children()
    ).keys()

    def scanned(x, y):
        return scan(lambda c, a: (c * y + a, c.sin()), taeda.zeros(3), x.expand(4, 3) * y)

    module = check(scanned, X, Y, mode=mode)
    assert operators(module) == ["scan"] and hasattr(module, "scan_combine_graph_0")

    def mapped(x, y):
        return map(lambda a: {"k": (a * y).sin()}, x.expand(4, 3) * 2)["k"]

    module = check(mapped, X, Y, mode=mode)
    assert operators(module) == ["map_impl"] and hasattr(module, "body_graph_0")
    module = check(lambda x: associative_scan(taeda.mul, x, 0), X, mode=mode)
    assert operators(module) == ["associative_scan"]
    generic = check(lambda x: associative_scan(taeda.mul, x, 0, False, "generic"), X, mode=mode)
    assert operators(generic) == ["associative_scan"]


def test_symbolic_sizes_stay_symbolic():
    def f(xs, y):
        carry, out = scan(lambda c, a: (c + a * y, c * 2), y * 0, xs)
        return carry, out, map(lambda a: a + y, xs)

    module = make_fx(f, tracing_mode="symbolic")(taeda.ones(4, 3), Y)
    assert operators(module) == ["scan", "map_impl"]
    assert not module.shape_env.guards
    given = taeda.ones(6, 5), taeda.ones(5)
    pairs = zip(tree_leaves(f(*given)), tree_leaves(module(*given)), strict=True)
    assert all(taeda.allclose(a, b) for a, b in pairs)


def test_everything_from_around_a_function_is_an_operand():
    constant = taeda.full((3,), 7.0)

    def f(x, y):
        return taeda.cond(
            x.sum() > 0, lambda a: (y + 1, a * constant), lambda a: (a - x, a * 1), (x,)
        )

    module = check(f, X, Y, mode="real", others=[(-X, Y)])
    operands = "(x_1, y_1, _tensor_constant0, x_1)"
    assert f"cond(gt, true_graph_0, false_graph_0, {operands})" in module.code
    assert taeda.equal(module._tensor_constant0, constant)


def test_tensors_made_inside_of_a_function_are_operands():
    def f(x):
        return taeda.cond(
            x.sum() > 0, lambda a: a * taeda.tensor([1.0, 2.0, 3.0]), lambda a: a + 1, (x,)
        )

    for mode in MODES:
        module = check(f, X, mode=mode, others=[(-X,)])
        assert not any(node.op == "get_attr" for node in module.true_graph_0.graph.nodes)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_a_parameter_that_a_function_uses(mode):
    weight = taeda.nn.Parameter(Y.clone())

    def f(x):
        y = taeda.cond(x.sum() > 0, lambda a: (a * weight).sin(), lambda a: a + weight, (x,))
        return taeda.autograd.grad(y.sum(), weight)

    # A parameter is a constant of this graph, whose values fake tensors do not have.
    module = make_fx(f, tracing_mode=mode, _allow_non_fake_inputs=True)(X)
    assert operators(module) == ["cond", "cond"]
    for x in (X, -X):
        assert taeda.allclose(module(x)[0], f(x)[0])


@pytest.mark.parametrize("mode", MODES)
def test_a_transform_inside_of_a_function(mode):
    def f(x, y):
        def inner(a):
            return taeda.func.grad(lambda v: (v * y * a).sin().sum())(y)

        return taeda.vmap(lambda x: taeda.cond(x.sum() > 0, inner, lambda a: a + y, (x,)), (0,))(x)

    check(f, taeda.stack([X, -X]), Y, mode=mode)
    check(taeda.vmap(f, (None, 0)), taeda.stack([X, -X]), taeda.stack([Y, X]), mode=mode)


def test_decompositions_reach_the_functions():
    table = {taeda.ops.aten.sin.default: lambda a: a * 2}
    module = make_fx(branch, table)(X, Y)
    assert "sin" not in module.true_graph_0.code
    assert taeda.equal(module(X, Y), X * 2 * Y)


def gradients(f):
    def run(*args):
        args = [a.detach().requires_grad_() for a in args]
        total = sum(leaf.sum() for leaf in tree_leaves(f(*args)))
        return taeda.autograd.grad(total, args)

    return run


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_operators_too(mode):
    module = check(gradients(branch), X, Y, mode=mode, others=[(-X, Y)])
    assert operators(module) == ["cond", "cond"]

    def of_closure(y):
        return taeda.cond(y.sum() > 0, lambda: y.sin(), lambda: y.cos())

    assert operators(check(gradients(of_closure), Y, mode=mode, others=[(-Y,)])) == ["cond"] * 2

    def scanned(x, y):
        return scan(lambda c, a: ((c * y + a).sin(), c * a), x * 0, x.expand(4, 3) * y)

    assert operators(check(gradients(scanned), X, Y, mode=mode)) == ["scan"] * 3

    def mapped(x, y):
        return map(lambda a: (a * y).sin(), x.expand(4, 3) * 2)

    assert operators(check(gradients(mapped), X, Y, mode=mode)) == ["map_impl"] * 2
    assert (
        operators(check(gradients(lambda x: associative_scan(taeda.mul, x, 0)), X, mode=mode)) == []
    )


@pytest.mark.parametrize("mode", MODES)
def test_transforms(mode):
    def f(x):
        return taeda.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,)).sum()

    first = taeda.func.grad(f)
    assert operators(check(first, X, mode=mode, others=[(-X,)])) == ["cond"] * 2
    second = taeda.func.grad(lambda x: first(x).sum())
    assert operators(check(second, X, mode=mode, others=[(-X,)])) == ["cond"] * 3
    rows = taeda.stack([X, -X])
    # Both branches run where examples differ.
    assert operators(check(taeda.vmap(f), rows, mode=mode)) == []

    def same_for_all(p, rows):
        one = lambda x: taeda.cond(p > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
        return taeda.vmap(one)(rows)

    p = taeda.tensor(1.0)
    module = check(same_for_all, p, rows, mode=mode, others=[(-p, rows)])
    assert operators(module) == ["cond"]

    def prefix_sums(x):
        return scan(lambda c, a: (c + a, c * a), taeda.zeros(()), x)

    assert operators(check(taeda.vmap(prefix_sums), rows, mode=mode)) == ["scan"]
    summed = taeda.vmap(lambda x: map(lambda a: a * 2 + x.shape[0], x))
    assert operators(check(summed, rows, mode=mode)) == ["map_impl"]


@pytest.mark.parametrize("mode", MODES)
def test_loops_under_vmap(mode):
    rows = taeda.stack([X, Y, X * 3])

    def counted(x):
        start = taeda.zeros((), dtype=taeda.int64)
        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (start, x))

    module = check(taeda.vmap(counted), rows, mode=mode)
    assert "any" not in module.while_loop_cond_graph_0.code  # one condition for all

    def until(x):
        return while_loop(lambda a: a.sum() < 20, lambda a: (a * 2,), (x,))

    module = check(taeda.vmap(until), rows, mode=mode, others=[(rows * 5,)])
    assert operators(module) == ["while_loop"] and "any" in module.while_loop_cond_graph_0.code


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_loops(mode):
    def until(x):
        return while_loop(lambda a: a.sum() < 20, lambda a: (a * a,), (x,))

    module = check(gradients(until), X, mode=mode, others=[(X * 1.5,), (X * 9,)])
    assert operators(module) == ["while_loop_stack_output", "while_loop"]


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_branches_of_different_sizes(mode):
    def f(x):
        part, k = taeda.cond(x.sum() > 0, lambda a: (a[:2].sin(), 2), lambda a: (a + 1, 3), (x,))
        return part * k

    check(f, X, mode=mode, others=[(-X,)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("true_fn", "message"),
    [
        (lambda a: (a + 1, a * 2), "true branch returns 2 item"),
        (lambda a: [a + 1], "Expected branches to return the same pytree structure"),
        (lambda a: a.double(), "expected same dtype but got torch.float64 and torch.float32"),
        (lambda a: a.sum(), "expected same dim but got 0 and 1"),
        (lambda a: a.add_(1), "Encountered input mutation"),
        (lambda a: a.view(3), "Encountered aliasing"),
    ],
)
def test_branches_that_cannot_be_recorded(mode, true_fn, message):
    def f(x):
        return taeda.cond(x.sum() > 0, true_fn, lambda a: a + 1, (x,))

    with pytest.raises(RuntimeError, match=message):
        make_fx(f, tracing_mode=mode)(X.clone())


@pytest.mark.parametrize("transform", [lambda f: f, taeda.vmap], ids=["plain", "vmap"])
def test_writes_to_what_a_function_takes_from_around_it(transform):
    def f(x):
        y = x * 2

        def write(a):
            y.add_(1)
            return a + y

        return taeda.cond(x.sum() > 0, write, lambda a: a + 1, (x,))

    with pytest.raises(RuntimeError, match="Encountered input mutation"):
        make_fx(transform(f))(taeda.stack([X, X]))


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_integers_in_the_state_of_a_loop(mode):
    def f(x):
        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * i + 1), (0, x))

    module = check(f, X, mode=mode)
    assert "(0, x_1), ()" in module.code and module(X)[0] == 3
    data = check(
        lambda x: while_loop(lambda i, a: a.sum() < 40, lambda i, a: (i + 1, a * 2), (0, x))[0] * x,
        X,
        mode=mode,
        others=[(X / 8,)],
    )
    assert operators(data) == ["while_loop"]
    rows = taeda.stack([X, Y])
    check(taeda.vmap(lambda x: f(x)[1]), rows, mode=mode)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize(
    ("cond_fn", "body_fn", "message"),
    [
        (lambda i, a: i + 1, lambda i, a: (i + 1, a * 2), "cond_fn must return a boolean scalar"),
        (lambda i, a: a > 1, lambda i, a: (i + 1, a * 2), "cond_fn must return a boolean scalar"),
        (lambda i, a: i < 3, lambda i, a: (i + 1, a.sum()), "differ in 'shape"),
        (lambda i, a: i < 3, lambda i, a: (a * 2, a * 3), "differ in type"),
        (lambda i, a: i < 3, lambda i, a: (i + 1, a.add_(1)), "Encountered input mutation"),
        (lambda i, a: i < 3, lambda i, a: (i + 1, a), "Encountered aliasing"),
    ],
)
def test_loops_that_cannot_be_recorded(mode, cond_fn, body_fn, message):
    with pytest.raises(RuntimeError, match=message):
        make_fx(lambda x: while_loop(cond_fn, body_fn, (0, x)), tracing_mode=mode)(X)


def test_sizes_from_around_a_function_are_operands():
    def f(x, y):
        n = y.shape[0]
        branch = taeda.cond(x.sum() > 0, lambda a: a * n, lambda a: a + 2 * n + 1, (x,))
        return branch, while_loop(lambda i, a: i < n, lambda i, a: (i + 2, a + n), (1, x))

    given = [(-X, Y), (taeda.ones(5), taeda.ones(7))]
    module = check(f, X, taeda.ones(4), mode="symbolic", others=given)
    assert "cond(gt, true_graph_0, false_graph_0, (x_1, sym_size_int))" in module.code


def test_what_cannot_be_recorded():
    with pytest.raises(NotImplementedError, match="branches that return different integers, 1 and"):
        make_fx(lambda x: taeda.cond(x.sum() > 0, lambda: 1, lambda: 2))(X)

    def counted(x):
        return while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (0, x))[1]

    with pytest.raises(NotImplementedError, match="can be recorded on fake tensors only"):
        make_fx(counted)(X)
    with pytest.raises(NotImplementedError, match="with integers that change; carry a tensor"):
        make_fx(gradients(counted), tracing_mode="fake")(X)

    def differing(x):
        return while_loop(lambda i, a: a.sum() < 9, lambda i, a: (i + 1, a * 2), (0, x))[1]

    with pytest.raises(NotImplementedError, match="differs between the examples of a vmap"):
        make_fx(taeda.vmap(differing), tracing_mode="fake")(taeda.stack([X, Y]))


def test_decompositions_reach_the_derivatives_of_functions():
    table = {taeda.ops.aten.cos.default: lambda a: a.sin() * 3}
    module = make_fx(gradients(branch), table)(X, Y)
    backward = module.true_graph_1.code
    assert "cos" not in backward and "sin" in backward
    assert taeda.allclose(module(X, Y)[0], X.sin() * 3 * Y)


def test_gradients_of_all_steps():
    stacked = taeda.ops.higher_order.while_loop_stack_output

    def steps(x):
        return stacked(lambda a: (a.sum() < 20,), lambda a: (a * a,), (x,))[0]

    module = check(gradients(steps), X, mode="fake", others=[(X * 1.5,), (X * 9,)])
    assert operators(module) == ["while_loop_stack_output", "while_loop"]


def test_loops_of_functions_that_carry_different_values_under_vmap():
    def f(x, n):
        start = taeda.zeros((), dtype=taeda.int64)

        def step(i, a, b):
            return i + 1, a + b, b * 2

        return while_loop(lambda i, a, b: i < n, step, (start, x, taeda.ones(3)))

    rows, counts = taeda.stack([X, Y]), taeda.tensor([2, 3])
    module = check(taeda.vmap(f, (0, None)), rows, taeda.tensor(2), mode="fake")
    assert "where" not in module.while_loop_body_graph_0.code
    module = check(taeda.vmap(f), rows, counts, mode="fake")
    assert "where" in module.while_loop_body_graph_0.code


def test_a_mode_that_takes_operators_sees_gradients_as_one_call():
    class Log(TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    def f(x, y):
        with Log():
            return gradients(branch)(x, y)

    seen = []
    module = check(f, X, Y, mode="real", others=[(-X, Y)])
    assert operators(module) == ["cond"] * 2 and "cond" in seen


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_functions_that_write_to_what_they_make_are_functionalized(mode):
    def f(x):
        y = x.clone().add_(1)
        return taeda.cond(y.sum() > 0, lambda a: a.sin().mul_(2), lambda a: a.cos(), (y,))

    module = check(taeda.func.functionalize(f), X, mode=mode, others=[(-2 * X,)])
    assert operators(module) == ["cond"]
    assert "_.Tensor(" not in module.code + module.true_graph_0.code


class Doubled(taeda._ops.HigherOrderOperator):
    """An operator that only Python knows."""

    def __init__(self):
        super().__init__("doubled_for_a_test")


doubled = Doubled()
doubled.py_impl("CompositeExplicitAutograd")(lambda x: x * 2)


@doubled.py_impl(ProxyTorchDispatchMode)
def _record(tracer, x):
    result = x * 2
    tracer.track(result, tracer.graph.call_function(doubled, (tracer.arg_of(x),)))
    return result


def test_operators_of_python_inside_of_a_function():
    def f(x):
        return taeda.cond(x.sum() > 0, lambda a: doubled(a) + 1, lambda a: a.cos(), (x,))

    module = check(f, X, mode="real", others=[(-X,)])
    assert operators(module.true_graph_0) == ["doubled_for_a_test"]


def test_what_runs_inside_is_not_recorded_without_values():
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def f(x, y):
        with Log():
            return branch(x, y)

    with pytest.raises(NotImplementedError, match="must take the operator as one call"):
        make_fx(f, tracing_mode="fake")(X, Y)
