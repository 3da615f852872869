"""cond, while_loop, scan, map and associative_scan as plain Python runs them.

Values and gradients that PyTorch computes are compared by hand-written loops, which both must
equal: PyTorch compiles these operators, and takes a second for each.
"""

import copy
import importlib
import pickle

import pytest
from under_test import NAME, t

_functions = importlib.import_module(f"{NAME}._higher_order_ops")
associative_scan = _functions.associative_scan
hop_map = _functions.map
scan = _functions.scan
while_loop = _functions.while_loop
TorchDispatchMode = importlib.import_module(f"{NAME}.utils._python_dispatch").TorchDispatchMode
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch refuses this")


def positive(x):
    return x.sum() > 0


class TestCond:
    def test_the_branch_that_the_predicate_names(self):
        x = t.arange(3.0)
        for sign, expected in ((1, x.sin()), (-1, (-x).cos())):
            got = t.cond(positive(sign * x), lambda a: a.sin(), lambda a: a.cos(), (sign * x,))
            assert t.equal(got, expected)

    def test_python_predicates_and_closures(self):
        x = t.ones(2)
        assert t.equal(t.cond(True, lambda: x + 1, lambda: x - 1), x + 1)
        assert t.equal(t.cond(0, lambda a: a + 1, lambda a: a - 1, [x]), x - 1)
        assert t.equal(t.cond(positive(x), lambda: x + 1, lambda: x - 1), x + 1)

    def test_nested_operands_and_results(self):
        x = t.arange(3.0)
        got = t.cond(
            positive(x),
            lambda d: {"a": d["x"] + 1, "b": (d["x"] * 2,)},
            lambda d: {"a": d["x"] - 1, "b": (d["x"] * 3,)},
            ({"x": x},),
        )
        assert t.equal(got["a"], x + 1) and t.equal(got["b"][0], x * 2)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("a", abs, abs), "Expected pred to be bool or tensor, but got a"),
            ((t.ones(2) > 0, abs, abs), "Expected pred to be bool or single-element tensor"),
            ((t.ones(1) > 0, 1, abs), "Expect both branches to be callable"),
            ((t.ones(1) > 0, abs, abs, t.ones(1)), "Expect operands to be a tuple of possibly"),
            ((t.ones(1) > 0, abs, abs, (1,)), "that only consists of tensor leaves"),
        ],
    )
    def test_arguments_that_do_not_fit(self, arguments, message):
        with pytest.raises(RuntimeError, match=message):
            t.cond(*arguments)

    def test_gradients_of_operands_and_closures(self):
        w, x = t.full((3,), 0.5, requires_grad=True), t.ones(3, requires_grad=True)
        t.cond(positive(x), lambda a: (a * w).sin(), lambda a: a.cos(), (x,)).sum().backward()
        assert t.allclose(w.grad, t.full((3,), 0.5).cos())
        assert t.allclose(x.grad, 0.5 * t.full((3,), 0.5).cos())

    def test_vmap_selects_by_example(self):
        x = t.tensor([[1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
        got = t.vmap(lambda a: t.cond(positive(a), lambda b: b * 2, lambda b: b - 1, (a,)))(x)
        assert t.equal(got, t.stack([x[0] * 2, x[1] - 1, x[2] * 2]))

    @only_taeda
    def test_vmap_with_several_results_nested_twice_and_with_gradients(self):
        x = t.tensor([[[1.0], [-2.0]], [[-3.0], [4.0]]])

        def one(a):
            return t.cond(positive(a), lambda b: (b * 2, b**2), lambda b: (b - 1, b**3), (a,))

        doubled, power = t.vmap(t.vmap(one))(x)
        assert doubled.tolist() == [[[2.0], [-3.0]], [[-4.0], [8.0]]]
        assert power.tolist() == [[[1.0], [-8.0]], [[-27.0], [16.0]]]
        gradient = t.vmap(t.vmap(t.func.grad(lambda a: one(a)[1].sum())))(x)
        assert gradient.tolist() == [[[2.0], [12.0]], [[27.0], [8.0]]]

    @only_taeda
    @pytest.mark.parametrize(
        ("true_fn", "message"),
        [
            (lambda a: (a, a), "Unmatched output spec from torch.cond branches"),
            (lambda a: a.double(), "expected same dtype but got torch.float64 and torch.float32"),
            (lambda a: a[:2], "expected same shape"),
        ],
    )
    def test_vmap_wants_branches_that_agree(self, true_fn, message):
        def one(a):
            return t.cond(positive(a), true_fn, lambda b: b + 1, (a,))

        with pytest.raises(RuntimeError, match=message):
            t.vmap(one)(t.ones(2, 3))

    @only_taeda
    def test_transforms(self):
        x = t.tensor([1.0, 2.0])

        def f(a):
            return t.cond(positive(x), lambda b: b.sin().sum(), lambda b: b.cos().sum(), (a,))

        assert t.allclose(t.func.grad(f)(x), x.cos())
        assert t.allclose(t.func.jvp(f, (x,), (t.ones(2),))[1], x.cos().sum())

    @only_taeda
    def test_without_values_both_branches_run_and_must_agree(self):
        pred, x = t.empty((), dtype=t.bool, device="meta"), t.empty(3, device="meta")
        got = t.cond(pred, lambda a: a + 1, lambda a: a * 2, (x,))
        assert got.is_meta and got.shape == (3,)
        with pytest.raises(RuntimeError, match="expected same shape"):
            t.cond(pred, lambda a: a[:1], lambda a: a * 2, (x,))


class TestWhileLoop:
    def test_tensors_and_integers_are_carried(self):
        x = t.arange(3.0)
        i, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (t.tensor(0), x))
        assert i.item() == 3 and t.equal(y, x * 8)
        i, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (0, x))
        assert i == 3 and t.equal(y, x * 8)

    def test_no_iteration_gives_copies(self):
        x = t.ones(2)
        _, y = while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * 2), (t.tensor(0), x))
        assert t.equal(x, y) and y is not x

    def test_nested_state(self):
        state = {"i": t.tensor(0), "a": t.ones(2)}
        (got,) = while_loop(
            lambda d: d["i"] < 3, lambda d: ({"i": d["i"] + 1, "a": d["a"] + d["i"]},), (state,)
        )
        assert got["i"].item() == 3 and got["a"].tolist() == [4, 4]

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ((1, abs, ()), RuntimeError, "Expect cond_fn and body_fn to be callable"),
            ((abs, abs, ("a",)), AssertionError, "can only be of"),
        ],
    )
    def test_arguments_that_do_not_fit(self, arguments, error, message):
        with pytest.raises(error, match=message):
            while_loop(*arguments)

    @only_taeda
    @pytest.mark.parametrize(
        ("cond_fn", "body_fn", "error", "message"),
        [
            (lambda a: a < 9, lambda a: (a,), RuntimeError, "cond_fn must return a boolean scalar"),
            (positive, lambda a: a, AssertionError, "body_fn should return a tuple but got"),
            (positive, lambda a: (a, a), AssertionError, "same number of elements"),
            (positive, lambda a: (a[:1],), RuntimeError, "differ in 'shape: .* vs .*'"),
            (positive, lambda a: (a.int(),), RuntimeError, "'dtype: torch.int32 vs torch.float32'"),
        ],
    )
    def test_functions_that_do_not_fit(self, cond_fn, body_fn, error, message):
        with pytest.raises(error, match=message):
            while_loop(cond_fn, body_fn, (t.ones(2),))

    def test_gradients(self):
        w, x = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
        _, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, (a * w).sin()), (t.tensor(0), x))
        y.sum().backward()
        v, z = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
        a = z
        for _ in range(3):
            a = (a * v).sin()
        a.sum().backward()
        assert t.allclose(w.grad, v.grad) and t.allclose(x.grad, z.grad)

    @only_taeda
    def test_vmap_runs_until_all_examples_are_done(self):
        def collatz(n):
            def body(n, steps):
                even = n % 2 == 0
                return t.where(even, n // 2, 3 * n + 1), steps + 1

            return while_loop(lambda n, steps: n != 1, body, (n, t.tensor(0)))[1]

        starts = t.tensor([1, 6, 7, 16])
        assert t.vmap(collatz)(starts).tolist() == [0, 8, 16, 4]
        assert t.vmap(t.vmap(collatz))(starts.view(2, 2)).tolist() == [[0, 8], [16, 4]]
        doubled = t.vmap(lambda a: while_loop(lambda a: a.sum() < 9, lambda a: (a * 2,), (a,))[0])
        assert doubled(t.tensor([[1.0], [5.0]])).tolist() == [[16.0], [10.0]]


class TestScan:
    @staticmethod
    def step(carry, x):
        return carry + x, carry * x

    def test_values(self):
        xs = t.arange(6.0).view(3, 2)
        carry, out = scan(self.step, t.zeros(2), xs)
        assert carry.tolist() == [6, 9] and out.tolist() == [[0, 0], [0, 3], [8, 20]]
        carry, out = scan(self.step, t.zeros(2), xs, reverse=True)
        assert carry.tolist() == [6, 9] and out.tolist() == [[0, 8], [8, 15], [0, 0]]
        carry, out = scan(self.step, t.zeros(3), xs, dim=1)
        assert carry.tolist() == [1, 5, 9] and out.tolist() == [[0, 0], [0, 6], [0, 20]]

    def test_nested_state_inputs_and_results(self):
        xs = t.arange(6.0).view(3, 2)

        def step(carry, x):
            return {"s": carry["s"] + x[0]}, [x[0] * x[1], x[1] + 1]

        carry, (first, second) = scan(step, {"s": t.zeros(2)}, (xs, xs + 1))
        assert carry["s"].tolist() == [6, 9]
        assert t.equal(first, xs * (xs + 1)) and t.equal(second, xs + 2)
        init = t.zeros(1)
        assert scan(step, init, []) == (init, [])

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((3, t.zeros(2), t.ones(3, 2)), {}, "Combine_fn must be a callable, but got 3"),
            ((max, t.zeros(2), t.ones(3, 2)), {"dim": 1.5}, "Dim must be an int"),
            ((max, t.zeros(2), t.ones(3, 2)), {"reverse": 1}, "Reverse must be a bool"),
            ((max, [], t.ones(3, 2)), {}, r"scan\(\) operator requires init leaves"),
            ((max, 1.0, t.ones(3, 2)), {}, "All init leaves must be a Tensor but got 1.0"),
            ((max, t.zeros(2), t.ones(0, 2)), {}, "scan dimension > 0"),
        ],
    )
    def test_arguments_that_do_not_fit(self, arguments, options, message):
        with pytest.raises(RuntimeError, match=message):
            scan(*arguments, **options)
        with pytest.raises(IndexError, match="Dimension out of range"):
            scan(max, t.zeros(2), t.ones(3, 2), dim=4)

    @only_taeda
    @pytest.mark.parametrize(
        ("step", "message"),
        [
            (lambda c, x: (c.sum(), x), "Expected init and carry to have same metadata"),
            (lambda c, x: (c.double(), x), "'dtype: torch.float32 vs torch.float64'"),
            (lambda c, x: ((c, c), x), "to have same number of outputs"),
            (lambda c, x: ([c], x), "to have same structure"),
            (lambda c, x: c + x, "must return a carry and an output"),
        ],
    )
    def test_functions_that_do_not_fit(self, step, message):
        with pytest.raises(RuntimeError, match=message):
            scan(step, t.zeros(2), t.ones(3, 2))

    def test_gradients(self):
        xs = t.arange(6.0).view(3, 2).requires_grad_()
        init, w = t.zeros(2, requires_grad=True), t.ones(2, requires_grad=True)
        carry, out = scan(lambda c, x: ((c * w + x).sin(), c * x), init, xs)
        got = t.autograd.grad(carry.sum() + out.sum(), (init, w, xs))
        carry, total = init, 0
        for x in xs.unbind():
            total = total + (carry * x).sum()
            carry = (carry * w + x).sin()
        expected = t.autograd.grad(carry.sum() + total, (init, w, xs))
        assert all(t.allclose(a, b) for a, b in zip(got, expected))

    @only_taeda
    def test_vmap(self):
        xs = t.arange(6.0).view(3, 2)
        carry, out = t.vmap(lambda x: scan(self.step, t.zeros(()), x))(xs)
        assert carry.tolist() == [1, 5, 9] and out.tolist() == [[0, 0], [0, 6], [0, 20]]


class TestMap:
    def test_values_and_gradients(self):
        xs = t.arange(6.0).view(3, 2).requires_grad_()
        w = t.full((2,), 3.0, requires_grad=True)
        out = hop_map(lambda x, v: x * v * w, xs, t.full((2,), 2.0))
        assert t.equal(out, xs * 6)
        out.sum().backward()
        assert t.equal(xs.grad, t.full((3, 2), 6.0)) and t.equal(w.grad, 2 * xs.sum(0))

    def test_nested_inputs_results_and_arguments(self):
        xs = t.arange(6.0).view(3, 2)
        out = hop_map(
            lambda x, c: {"p": x[0] + x[1], "q": x[1] + c["k"]}, [xs, xs + 1], {"k": xs[0].clone()}
        )
        assert t.equal(out["p"], 2 * xs + 1) and t.equal(out["q"], xs + 1 + xs[0])

    @pytest.mark.parametrize(
        ("xs", "message"),
        [
            ([1.0], "Mapped xs can only consist of tensors"),
            (t.ones(0, 2), "Leading dimensions of mapped xs cannot be 0"),
            ([t.ones(3), t.ones(2)], "Leading dimensions of mapped xs must be consistent"),
        ],
    )
    def test_arguments_that_do_not_fit(self, xs, message):
        with pytest.raises(RuntimeError, match=message):
            hop_map(lambda x: x, xs)

    @only_taeda
    def test_vmap(self):
        xs = t.arange(12.0).view(2, 3, 2)
        assert t.equal(t.vmap(lambda x: hop_map(lambda row: row.sum(), x))(xs), xs.sum(2))


class TestAssociativeScan:
    @pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_sums(self, count, reverse):
        xs = t.arange(2.0 * count).view(2, count)
        got = associative_scan(t.add, xs, 1, reverse=reverse, combine_mode="generic")
        expected = xs.flip([1]).cumsum(1).flip([1]) if reverse else xs.cumsum(1)
        assert t.equal(got, expected)

    def test_a_recurrence_and_its_gradient(self):
        a = t.linspace(0.1, 0.9, 7, dtype=t.float64).requires_grad_()
        b = t.linspace(1, 2, 7, dtype=t.float64).requires_grad_()

        def combine(x, y):
            return x[0] * y[0], y[0] * x[1] + y[1]

        _, got = associative_scan(combine, (a, b), 0, combine_mode="generic")
        state, expected = t.zeros((), dtype=t.float64), []
        for i in range(7):
            state = a[i] * state + b[i]
            expected.append(state)
        expected = t.stack(expected)
        assert t.allclose(got, expected)
        gradients = t.autograd.grad(got.sum(), (a, b)), t.autograd.grad(expected.sum(), (a, b))
        assert all(t.allclose(x, y) for x, y in zip(*gradients))

    def test_a_product_of_matrices(self):
        xs = t.arange(20.0).view(5, 2, 2) / 10
        got = associative_scan(t.matmul, xs, 0, combine_mode="generic")
        product = xs[0]
        for i in range(1, 5):
            product = product @ xs[i]
        assert t.allclose(got[-1], product)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ((3, t.ones(2), 0), ValueError, "Combine_fn must be a callable, but got 3"),
            ((t.add, t.ones(2), 0, False, "x"), ValueError, "must either 'pointwise' or 'generic'"),
            ((t.add, t.ones(0), 0, False, "generic"), ValueError, "scan dimension > 0"),
            ((t.add, t.ones(2), 3, False, "generic"), IndexError, "Dimension out of range"),
        ],
    )
    def test_arguments_that_do_not_fit(self, arguments, error, message):
        with pytest.raises(error, match=message):
            associative_scan(*arguments)

    @only_taeda
    def test_pointwise_functions_see_many_slices(self):
        sizes = []

        def combine(x, y):
            sizes.append(len(x))
            return x * y

        xs = t.arange(1.0, 9)
        assert t.equal(associative_scan(combine, xs, 0), xs.cumprod(0))
        assert sizes == [4, 2, 1, 1, 3]
        with pytest.raises(RuntimeError, match="to have same number of outputs"):
            associative_scan(lambda x, y: (x, y), xs, 0)
        got = t.vmap(lambda x: associative_scan(t.add, x, 0, combine_mode="generic"))(xs.view(2, 4))
        assert t.equal(got, xs.view(2, 4).cumsum(1))


# ---- the operators themselves ----
def test_operators_by_name():
    op = t.ops.higher_order.cond
    assert str(op) == op.name() == op.__name__ == "cond" and op.namespace == "higher_order"
    assert copy.deepcopy(op) is op
    x = t.ones(2)
    assert t.equal(op(positive(x), lambda a: (a + 1,), lambda a: (a,), (x,))[0], x + 1)
    with pytest.raises(AttributeError):
        _ = t.ops.higher_order.no_such_operator
    if NAME == "taeda":
        assert pickle.loads(pickle.dumps(op)) is op


def test_a_mode_may_take_the_operator_as_one_call():
    class Taking(TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is t.ops.higher_order.cond:
                seen.append(func.name())
                return args[1](*args[3])
            return func(*args, **(kwargs or {}))

    seen, x = [], t.ones(2)
    with Taking():
        got = t.ops.higher_order.cond(x.sum() < 0, lambda a: (a + 1,), lambda a: (a,), (x,))
    assert t.equal(got[0], x + 1) and seen == ["cond"]


@only_taeda
def test_other_modes_see_what_runs_inside():
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen, x = [], t.ones(2)
    pred = positive(x)
    with Log():
        t.cond(pred, lambda a: a.sin(), lambda a: a.cos(), (x,))
    assert seen == ["aten._local_scalar_dense.default", "aten.sin.default"]


def test_an_operator_of_ones_own():
    base = importlib.import_module(f"{NAME}._ops").HigherOrderOperator
    with pytest.raises((RuntimeError, TypeError), match="HigherOrderOperator"):
        base("direct")

    class Twice(base):
        def __init__(self):
            super().__init__("twice_for_a_test")

        def __call__(self, fn, x):
            return super().__call__(fn, x)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    twice = Twice()
    dense = "CompositeExplicitAutograd"
    if NAME == "torch":
        dense = t._C.DispatchKey.CompositeExplicitAutograd
        for key in (t._C.DispatchKey.AutogradCPU, t._C.DispatchKey.ADInplaceOrView):
            twice.fallthrough(key)

    @twice.py_impl(dense)
    def _(fn, x):
        return fn(fn(x))

    assert t.ops.higher_order.twice_for_a_test is twice
    assert twice(lambda a: a + 1, t.zeros(1)).item() == 2
    with Mode(), pytest.raises(NotImplementedError, match="There was no rule registered for"):
        twice(lambda a: a + 1, t.zeros(1))

    @twice.py_impl(Mode)
    def _(mode, fn, x):
        return x - 1

    with Mode():
        assert twice(lambda a: a + 1, t.zeros(1)).item() == -1
