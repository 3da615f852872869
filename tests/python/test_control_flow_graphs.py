"""Control flow that make_fx records: nodes, graphs of functions, gradients, transforms."""

import pytest
from taeda._higher_order_ops import associative_scan, map, scan, while_loop
from taeda.fx.experimental.proxy_tensor import make_fx
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
        assert all(taeda.allclose(a, b) for a, b in pairs)
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
    assert operators(generic) == []


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


def test_captured_and_constant_tensors():
    constant = taeda.full((3,), 7.0)

    def f(x, y):
        return taeda.cond(x.sum() > 0, lambda a: (y, a * constant), lambda a: (a * 1, a - x), (x,))

    module = check(f, X, Y, mode="real", others=[(-X, Y)])
    assert "cond(gt, true_graph_0, false_graph_0, (x_1, y_1, x_1))" in module.code
    assert taeda.equal(module.true_graph_0._tensor_constant0, constant)


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


def test_what_cannot_be_recorded():
    def mismatched(x):
        return taeda.cond(x.sum() > 0, lambda a: (a, a), lambda a: a, (x,))

    with pytest.raises(RuntimeError, match="true branch returns 2 item"):
        make_fx(mismatched)(X)
    with pytest.raises(RuntimeError, match="expected same shape"):
        make_fx(
            lambda x: taeda.cond(x.sum() > 0, lambda a: a[:1], lambda a: a, (x,)),
            tracing_mode="fake",
        )(X)

    def loop(x):
        return while_loop(lambda a: a.sum() < 50, lambda a: (a * 2,), (x,))

    with pytest.raises(NotImplementedError, match="a loop with gradients cannot be recorded"):
        make_fx(gradients(loop))(X)
    with pytest.raises(NotImplementedError, match="a loop under vmap cannot be recorded"):
        make_fx(taeda.vmap(loop))(taeda.stack([X, X]))
    with pytest.raises(NotImplementedError, match="integers that change cannot be recorded"):
        make_fx(lambda x: while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a), (0, x)))(X)

    def of_level(y):
        return taeda.cond(X.sum() > 0, lambda a: a * y, lambda a: a, (X,)).sum()

    with pytest.raises(NotImplementedError, match="pass the tensor as an operand"):
        make_fx(taeda.func.grad(of_level))(Y)
