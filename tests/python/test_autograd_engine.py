"""Tests of backward and grad: options, edges, errors that leave graphs usable, threads, depth."""

import threading

import pytest
from under_test import t


def leaf(*sizes):
    return t.ones(*sizes, requires_grad=True)


class TestGrad:
    def test_four_derivatives_of_a_power(self):
        a = t.tensor(2.0, requires_grad=True)
        y, seen = a**4, []
        for _ in range(4):
            (y,) = t.autograd.grad(y, a, create_graph=True)
            seen.append(y.item())
        assert seen == [32.0, 48.0, 48.0, 24.0]

    def test_unused_inputs_are_none_or_zeros(self):
        a, b = leaf(2), leaf(2)
        y = (a * 2).sum()
        found = t.autograd.grad(y, [a, b], allow_unused=True, retain_graph=True)
        assert found[0].tolist() == [2.0, 2.0] and found[1] is None
        found = t.autograd.grad(y, [a, b], materialize_grads=True)
        assert found[1].tolist() == [0.0, 0.0]

    def test_of_an_output_with_respect_to_itself(self):
        a = leaf(1)
        y = a * 2
        assert t.autograd.grad(a, a)[0].tolist() == [1.0]
        assert t.autograd.grad(y, y)[0].tolist() == [1.0]

    def test_leaves_grad_alone(self):
        a = leaf(1)
        t.autograd.grad(a * 2, a)
        assert a.grad is None


class TestBackward:
    def test_inputs_restrict_what_is_accumulated(self):
        a, b = leaf(1), leaf(1)
        c = a * b
        d = c * 2
        d.backward(inputs=[a], retain_graph=True)
        assert a.grad.tolist() == [2.0] and b.grad is None
        d.backward(inputs=[c], retain_graph=True)
        assert c.grad.tolist() == [2.0] and a.grad.tolist() == [2.0]
        d.backward(inputs={"a": a})
        assert a.grad.tolist() == [4.0]

    def test_adds_in_place_to_the_gradient_that_is_there(self):
        a = leaf(2)
        (a * 2).sum().backward()
        grad = a.grad
        (a * 2).sum().backward()
        assert a.grad is grad and grad.tolist() == [4.0, 4.0]

    @pytest.mark.filterwarnings("ignore:Using backward")
    def test_create_graph_makes_the_gradient_differentiable(self):
        a = leaf(1)
        (a**3).backward(create_graph=True)
        assert a.grad.requires_grad
        a.grad = None

    def test_seed_of_another_float_dtype_is_converted(self):
        a = leaf(2)
        (a * 2).backward(t.ones(2, dtype=t.float64))
        assert a.grad.dtype == t.float32

    def test_hundred_thousand_nodes(self):
        a = leaf(1)
        y = a
        for _ in range(100_000):
            y = y * 1.0
        y.backward()
        assert a.grad.tolist() == [1.0]

    def test_saves_only_what_a_wanted_gradient_reads(self):
        a = leaf(2)
        x, w = a * 1, t.full((2,), 3.0)
        y = x * w
        x.add_(1)
        y.sum().backward()
        assert a.grad.tolist() == [3.0, 3.0]


class TestExceptions:
    def test_of_a_hook_keep_type_and_traceback_and_the_graph_works_on(self):
        import traceback

        a = leaf(1)
        b = a * 2
        fails = [True]

        def hook(grad):
            if fails[0]:
                raise KeyError("boom")

        b.register_hook(hook)
        with pytest.raises(KeyError) as raised:
            b.backward(retain_graph=True)
        assert "in hook" in "".join(traceback.format_exception(raised.value))
        fails[0] = False
        b.backward()
        assert a.grad.tolist() == [2.0]

    def test_of_a_nested_run_on_another_stack_keep_their_type(self):
        class Deep(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.depth = int(x)
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                if ctx.depth == 0:
                    raise LookupError("the bottom", 7)
                with t.enable_grad():
                    x = t.tensor(float(ctx.depth - 1), requires_grad=True)
                    Deep.apply(x).backward()
                return grad

        with pytest.raises(LookupError) as raised:
            Deep.apply(t.tensor(200.0, requires_grad=True)).backward()
        assert raised.value.args == ("the bottom", 7)


class TestNesting:
    def test_two_thousand_runs_deep(self):
        class Deep(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with t.enable_grad():
                    ctx.x = x.detach().requires_grad_() - 1
                return ctx.x.detach()

            @staticmethod
            def backward(ctx, grad):
                if ctx.x < 0:
                    return grad
                with t.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
                return grad

        v = t.tensor(2000.0, requires_grad=True)
        Deep.apply(v).sum().backward()
        assert v.grad.item() == 1.0

    def test_callback_runs_after_the_last_node(self):
        a, seen = leaf(1), []

        def hook(grad):
            engine = t.autograd.Variable._execution_engine
            engine.queue_callback(lambda: seen.append(a.grad.tolist()))

        b = a * 2
        b.register_hook(hook)
        b.backward()
        assert seen == [[2.0]]


class TestThreads:
    def run(self, work, count):
        errors = []

        def guarded():
            try:
                work()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    def test_share_a_kept_graph(self):
        a = leaf(3)
        y = (a * a).sum()
        self.run(lambda: [y.backward(retain_graph=True) for _ in range(50)], 8)
        assert a.grad.tolist() == [800.0] * 3

    def test_share_a_leaf_with_python_hooks_and_functions(self):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad

        a = leaf(3)
        a.register_hook(lambda grad: grad * 1)
        self.run(lambda: [Square.apply(a).sum().backward() for _ in range(30)], 6)
        assert a.grad.tolist() == [360.0] * 3

    def test_have_modes_of_their_own(self):
        seen = []
        with t.no_grad():
            self.run(lambda: seen.append(t.is_grad_enabled()), 1)
        assert seen == [True]


class TestOrder:
    def order_seen_from(self, tensor, run):
        seen = []
        handle = tensor.register_hook(
            lambda _: seen.extend(t._C._current_graph_task_execution_order())
        )
        with t.autograd.set_multithreading_enabled(False):
            run()
        handle.remove()
        return [node.name().split("::")[-1] for node in seen]

    def test_is_known_while_a_run_goes_on(self):
        a, b = leaf(1), leaf(1)
        c = (a.sin() * b.cos()).exp()
        assert self.order_seen_from(c, c.backward) == [
            *("ExpBackward0", "MulBackward0", "CosBackward0", "AccumulateGrad"),
            *("SinBackward0", "AccumulateGrad"),
        ]

    def test_leaves_out_what_the_inputs_do_not_need(self):
        a, b = leaf(1), leaf(1)
        c = (a.sin() * b.cos()).exp()
        order = self.order_seen_from(c, lambda: t.autograd.grad(c, a))
        assert order == ["ExpBackward0", "MulBackward0", "SinBackward0", "AccumulateGrad"]

    def test_is_told_in_a_run_alone_and_with_threads_off(self):
        with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
            t._C._current_graph_task_execution_order()
        y = leaf(1) * 2
        y.register_hook(lambda _: t._C._current_graph_task_execution_order())
        with pytest.raises(RuntimeError, match="with multithreading disabled"):
            y.backward()


class TestGradDtype:
    def widening(self, x):
        class Widen(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad.double()

        return Widen.apply(x)

    @pytest.mark.parametrize("dtype", [t.float16, t.float64, None])
    @pytest.mark.parametrize("is_used_before", [True, False])
    def test_is_that_of_the_gradient(self, dtype, is_used_before):
        x = leaf(2)
        before = x * 1 if is_used_before else None
        x.grad_dtype = dtype
        assert x.grad_dtype is dtype
        (found,) = t.autograd.grad(self.widening(x).sum(), x)
        self.widening(x).sum().backward()
        assert x.grad.dtype is found.dtype is (dtype or t.float64)
        del before

    def test_is_the_tensors_own_unless_set(self):
        x = leaf(2)
        self.widening(x).sum().backward()
        assert x.grad_dtype is x.grad.dtype is t.float32

    def test_rules_what_may_be_assigned(self):
        x = leaf(2)
        x.grad_dtype = t.float16
        with pytest.raises(RuntimeError, match="with dtype 'float' to a tensor with grad_dtype"):
            x.grad = t.ones(2)
        x.grad = t.ones(2, dtype=t.float16)
        with pytest.raises(RuntimeError, match="because there is already a gradient"):
            x.grad_dtype = t.float32
        x.grad_dtype = None
        x.grad = t.ones(2, dtype=t.float64)

    def test_belongs_to_leaves(self):
        y = leaf(2) * 2
        with pytest.raises(RuntimeError, match="can only be accessed on leaf tensors"):
            _ = y.grad_dtype
        with pytest.raises(RuntimeError, match="can only be set on leaf tensors"):
            y.grad_dtype = t.float16
