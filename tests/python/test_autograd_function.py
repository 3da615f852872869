"""Tests of autograd.Function: contexts, outputs of all kinds, in-place forwards, lifetime."""

import gc
import importlib
import weakref

import pytest
from under_test import NAME, t

once_differentiable = importlib.import_module(f"{NAME}.autograd.function").once_differentiable


def leaf(*sizes):
    return t.ones(*sizes, requires_grad=True)


def function(forward, backward, **methods):
    """A Function class from plain functions."""
    methods |= {"forward": forward, "backward": backward}
    namespace = {name: staticmethod(method) for name, method in methods.items()}
    return type("Fn", (t.autograd.Function,), namespace)


class TestContext:
    def test_carries_attributes_and_saved_tensors(self):
        seen = []

        def forward(ctx, x, factor, other):
            ctx.factor = factor
            ctx.save_for_backward(x, None)
            seen.append(ctx.needs_input_grad)
            return x * factor

        def backward(ctx, grad):
            seen.append((ctx.saved_tensors[0] is a, ctx.saved_tensors[1], t.is_grad_enabled()))
            return grad * ctx.factor, None, None

        a = leaf(2)
        y = function(forward, backward).apply(a, 3, t.ones(1))
        y.sum().backward()
        assert seen == [(True, False, False), (True, None, False)]
        assert a.grad.tolist() == [3.0, 3.0]

    def test_is_the_grad_fn(self):
        def forward(ctx, x):
            ctx.mark = "kept"
            return x * 2

        y = function(forward, lambda ctx, g: g).apply(leaf(1))
        assert y.grad_fn.mark == "kept" and y.grad_fn.name() == "FnBackward"
        assert type(y.grad_fn).__name__ == "FnBackward"
        assert y.grad_fn.next_functions[0][0].variable.tolist() == [1.0]

    def test_is_filled_by_setup_context(self):
        def setup(ctx, inputs, output):
            ctx.factor = inputs[1]
            ctx.save_for_backward(inputs[0], output)

        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * ctx.factor + 0 * y, None

        a = leaf(2)
        fn = function(lambda x, k: x * k, backward, setup_context=setup)
        (grad,) = t.autograd.grad(fn.apply(a, 3).sum(), a, create_graph=True)
        assert grad.tolist() == [3.0, 3.0] and grad.requires_grad

    def test_keyword_arguments_reach_forward(self):
        fn = function(lambda ctx, x, k=1: x * k, lambda ctx, g: g)
        assert fn.apply(leaf(1), k=5).tolist() == [5.0]

    def test_cycle_through_the_context_is_collected(self):
        y = function(lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(1))
        y.grad_fn.result = y
        weak = weakref.ref(y)
        del y
        gc.collect()
        assert weak() is None

    def test_dies_with_the_graph(self):
        class Marker:
            pass

        y = function(lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(1))
        marker = y.grad_fn.marker = Marker()
        weak = weakref.ref(marker)
        del marker
        assert weak() is not None
        del y
        assert weak() is None


class TestGradients:
    def test_missing_ones_are_zeros_or_none(self):
        seen = []

        def backward(ctx, *grads):
            seen.append([None if g is None else g.tolist() for g in grads])
            return grads[0]

        def unmaterialized(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        a = leaf(1)
        function(lambda ctx, x: (x * 1, x * 2, x > 0), backward).apply(a)[0].backward()
        function(unmaterialized, backward).apply(a)[0].backward()
        assert seen == [[[1.0], [0.0], [False]], [[1.0], None]]

    def test_none_stops_the_flow(self):
        a, b = leaf(1), leaf(1)
        function(lambda ctx, x, y: x * y, lambda ctx, g: (None, g)).apply(a, b).backward()
        assert a.grad is None and b.grad.tolist() == [1.0]

    def test_surplus_none_is_ignored(self):
        a = leaf(1)
        function(lambda ctx, x: x * 2, lambda ctx, g: (g, None, None)).apply(a).backward()
        assert a.grad.tolist() == [1.0]

    def test_three_derivatives(self):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        fn = function(forward, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)
        a = t.tensor(2.0, requires_grad=True)
        y, seen = fn.apply(a), []
        for _ in range(3):
            (y,) = t.autograd.grad(y, a, create_graph=True)
            seen.append(y.item())
        assert seen == [12.0, 12.0, 6.0]

    def test_second_derivative_through_a_saved_output(self):
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        a = t.tensor(1.0, requires_grad=True)
        y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(a)
        (first,) = t.autograd.grad(y, a, create_graph=True)
        assert t.autograd.grad(first, a)[0].item() == pytest.approx(2.7182818)

    def test_once_differentiable_forbids_a_second(self):
        fn = function(lambda ctx, x: x * x, once_differentiable(lambda ctx, g: g * 2))
        a = leaf(1)
        (grad,) = t.autograd.grad(fn.apply(a).pow(2), a, create_graph=True)
        assert grad.tolist() == [4.0]
        with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
            grad.backward()


class TestOutputs:
    def test_other_objects_pass_through(self):
        counts = []

        def backward(ctx, *grads):
            counts.append(len(grads))
            return grads[0]

        y = function(lambda ctx, x: (x * 2, "s", None, 3), backward).apply(leaf(1))
        assert y[1:] == ("s", None, 3)
        y[0].backward()
        assert counts == [4]
        assert function(lambda ctx, x: [x * 2], backward).apply(leaf(1))[0].requires_grad is False

    def test_marked_ones_need_no_gradient(self):
        def forward(ctx, x):
            flags = x * 2
            ctx.mark_non_differentiable(flags)
            return x * 1, flags

        fn = function(forward, lambda ctx, g, h: g)
        assert [y.requires_grad for y in fn.apply(leaf(2))] == [True, False]

    def test_returned_input_becomes_a_view(self):
        a, plain = leaf(2), t.ones(2)
        fn = function(lambda ctx, x: x, lambda ctx, g: g * 7)
        y = fn.apply(a)
        assert y is not a and y._base is a
        y.sum().backward()
        assert a.grad.tolist() == [7.0, 7.0]
        assert fn.apply(plain) is not plain
        with t.no_grad():
            assert not fn.apply(a).requires_grad

    def test_view_of_an_input_has_the_custom_gradient(self):
        a = leaf(2)
        fn = function(lambda ctx, x: x[:1], lambda ctx, g: t.cat([g, g * 2]))
        y = fn.apply(a * 1)
        assert y._is_view() and y.grad_fn.name() == "FnBackward"
        y.sum().backward()
        assert a.grad.tolist() == [1.0, 2.0]


class TestInPlace:
    def triple(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    fn = function(triple, lambda ctx, g: g * 3)

    def test_becomes_the_history_of_the_argument(self):
        a = leaf(2)
        b = a * 1
        assert self.fn.apply(b) is b and b.grad_fn.name() == "FnBackward"
        b.sum().backward()
        assert a.grad.tolist() == [3.0, 3.0]

    def test_on_a_view_rewrites_the_base(self):
        a = leaf(2)
        b = a * 1
        self.fn.apply(b[:1])
        b.sum().backward()
        assert a.grad.tolist() == [3.0, 1.0]

    def test_makes_a_plain_argument_require_grad(self):
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(y)

        x, y = t.ones(2), t.full((2,), 2.0, requires_grad=True)
        result = function(forward, lambda ctx, g: (None, g)).apply(x, y)
        assert result is x and x.requires_grad and not x.is_leaf
        result.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0]


class TestErrors:
    def test_keep_their_type_and_restore_the_mode(self):
        class OwnError(Exception):
            pass

        def fail(ctx, *_):
            raise OwnError("x", 3)

        with pytest.raises(OwnError) as raised:
            function(lambda ctx, x: x * 2, fail).apply(leaf(1)).backward()
        assert raised.value.args == ("x", 3)
        with pytest.raises(OwnError):
            function(fail, fail).apply(leaf(1))
        assert t.is_grad_enabled()


def test_a_kept_context_outlives_its_graph():
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    x = t.tensor([3.0], requires_grad=True)
    y = Square.apply(x)
    node = y.grad_fn
    del y
    assert node.saved_tensors[0] is x


class TestArguments:
    def recording(self):
        seen = []

        class Scale(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, y=2.0, power=1):
                ctx.set_materialize_grads(False)
                seen.append((y, power))
                return x * y**power

            @staticmethod
            def backward(ctx, grad):
                return tuple(grad if needed else None for needed in ctx.needs_input_grad)

        return Scale, seen

    def test_given_by_name_have_gradients(self):
        scale, seen = self.recording()
        x, y = leaf(2), leaf(2)
        scale.apply(y=y, x=x).sum().backward()
        assert seen[0][0] is y and x.grad.tolist() == y.grad.tolist() == [1.0, 1.0]

    def test_left_out_are_not_positions(self):
        scale, seen = self.recording()
        x = leaf(2)
        out = scale.apply(x, y=3.0)
        assert seen == [(3.0, 1)] and len(out.grad_fn.needs_input_grad) == 2

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda fn, x: fn.apply(x, z=1), "got an unexpected keyword argument"),
            (lambda fn, x: fn.apply(x, 2.0, y=1), "got multiple values for argument"),
        ],
    )
    def test_wrong_names_are_refused(self, call, message):
        with pytest.raises(TypeError, match=message):
            call(self.recording()[0], leaf(2))

    def test_setup_context_gets_the_defaults(self):
        class Scale(t.autograd.Function):
            @staticmethod
            def forward(x, factor=3, power=2):
                return x * factor**power

            @staticmethod
            def setup_context(ctx, inputs, output):
                _, ctx.factor, ctx.power = inputs

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor**ctx.power, None, None

        x = leaf(1)
        assert t.autograd.grad(Scale.apply(x), x)[0].item() == 9
        assert t.autograd.grad(Scale.apply(x, power=1), x)[0].item() == 3
        assert t.func.grad(lambda a: Scale.apply(a, power=3).sum())(t.ones(1)).item() == 27


class TestBoxedGradients:
    def boxed(self, backward):
        cls = function(lambda ctx, x: (x * 2, x * 3), backward)
        cls.boxed_grads_call = True
        return cls

    def test_come_as_one_list(self):
        def backward(ctx, grads):
            assert type(grads) is list and len(grads) == 2
            return grads[0] * 2 + grads[1] * 3

        x = leaf(2)
        a, b = self.boxed(backward).apply(x)
        (a.sum() + b.sum()).backward()
        assert x.grad.tolist() == [5.0, 5.0]
        assert a.grad_fn.apply(t.ones(2), t.ones(2)).tolist() == [5.0, 5.0]

    def test_are_kept_by_the_list_alone(self):
        died = []

        def backward(ctx, grads):
            result = grads[0] * 2
            refs = [weakref.ref(g) for g in grads]
            grads.clear()
            died.extend(ref() is None for ref in refs)
            return result

        x = leaf(2)
        a, b = self.boxed(backward).apply(x)
        (a.exp().sum() + b.exp().sum()).backward()
        assert died == [True, True]


def test_saved_tensors_may_be_taken_once():
    died = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ref = weakref.ref(x)
        del x
        died.append(ref() is None)
        with pytest.raises(RuntimeError, match="can only be accessed once"):
            _ = ctx.saved_tensors
        return grad

    fn = function(forward, backward)
    fn.clear_saved_tensors_on_access = True
    fn.apply(leaf(2).clone()).sum().backward()
    assert died == [True]


def test_a_returned_input_keeps_its_class():
    class Own(t.Tensor):
        pass

    same = function(lambda ctx, x: x, lambda ctx, grad: grad * 2)
    x = t.ones(2).as_subclass(Own).requires_grad_()
    y = same.apply(x)
    assert type(y) is Own and y is not x and type(same.apply(x.detach())) is Own
    assert t.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 2.0]


def test_gradients_of_non_differentiable_outputs_may_stay_none():
    seen = []

    def forward(ctx, x):
        plain = x.clone()
        ctx.mark_non_differentiable(plain)
        ctx._materialize_non_diff_grads = False
        return x * 2, plain, x * 3

    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0] * 2

    function(forward, backward).apply(leaf(1))[0].backward()
    assert seen[1] is None and seen[2].tolist() == [0.0]


def test_a_dirty_view_of_a_temporary_is_refused():
    def forward(ctx, x):
        out = x.clone().view_as(x)
        ctx.mark_dirty(out)
        return out

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        function(forward, lambda ctx, grad: grad).apply(leaf(1).clone())


def test_an_error_in_the_call_leaves_no_cycle():
    refs = []

    def forward(ctx, x):
        y = x.clone()
        ctx.save_for_backward(y)
        refs.append(weakref.ref(y))
        return y

    def refuse(_):
        raise ValueError("not saved")

    gc.disable()
    try:
        with pytest.raises(ValueError), t.autograd.graph.saved_tensors_hooks(refuse, refuse):
            function(forward, lambda ctx, grad: grad).apply(leaf(1))
        assert refs[0]() is None
    finally:
        gc.enable()


def test_notes_of_a_context_outlive_its_graph():
    x = leaf(1)
    y = function(lambda ctx, a: a * 2, lambda ctx, grad: grad).apply(x)
    node = y.grad_fn
    node.metadata["key"] = 3
    del y
    assert node.metadata["key"] == 3


def test_once_differentiable_shows_its_outputs_as_leaves():
    def backward(ctx, grad):
        return grad * 2, None

    x = leaf(1)
    out = function(lambda ctx, a, b: a * 2, once_differentiable(backward)).apply(x, 1)
    (grad,) = t.autograd.grad(out, x, leaf(1), create_graph=True)
    names = [node and node.name() for node, _ in grad.grad_fn.next_functions]
    assert names == ["torch::autograd::AccumulateGrad", None]
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.backward()


def test_saved_variables_is_deprecated():
    def backward(ctx, grad):
        with pytest.warns(DeprecationWarning, match="saved_variables"):
            assert ctx.saved_variables == ()
        return grad

    function(lambda ctx, x: x * 2, backward).apply(leaf(1)).backward()


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("save", ["save_for_backward", "save_for_forward"])
def test_a_returned_input_is_not_saved_by_setup_context(save, requires_grad):
    def setup_context(ctx, inputs, output):
        getattr(ctx, save)(*inputs)

    returning = function(lambda x: x, lambda ctx, g: g, setup_context=setup_context)
    viewing = function(lambda x: x.view_as(x), lambda ctx, g: g, setup_context=setup_context)
    x = t.ones(2, requires_grad=requires_grad)
    with pytest.raises(RuntimeError, match="returned as-is as output is being saved for backward"):
        returning.apply(x)
    assert viewing.apply(x).requires_grad == requires_grad


def test_a_returned_input_may_be_saved_by_forward():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    saving = function(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(2)
    saving.apply(x).sum().backward()
    assert t.equal(x.grad, t.ones(2))
