"""Tests of forward mode through autograd.Function: what jvp gets and what it must return."""

import importlib

import pytest
from under_test import NAME, t

fw = importlib.import_module(f"{NAME}.autograd.forward_ad")


def function(forward, jvp):
    namespace = {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    return type("Fn", (t.autograd.Function,), namespace)


def dual(*sizes):
    return fw.make_dual(t.ones(*sizes), t.ones(*sizes))


class TestArguments:
    def test_without_a_tangent_are_zeros(self):
        def jvp(ctx, number, x, y, index):
            assert number is None and index is None
            return x * 2 + y

        fn = function(lambda ctx, number, x, y, index: x * 2 + y, jvp)
        with fw.dual_level():
            out = fn.apply(3, dual(2), t.ones(2), t.tensor([1]))
            assert fw.unpack_dual(out).tangent.tolist() == [2.0, 2.0]

    def test_without_a_tangent_are_none_where_asked(self):
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x * y

        def jvp(ctx, x, y):
            assert y is None
            return x

        with fw.dual_level():
            assert (
                fw.unpack_dual(function(forward, jvp).apply(dual(2), t.ones(2))).tangent.sum() == 2
            )

    def test_saved_tensors_are_those_of_forward_mode(self):
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            ctx.save_for_forward(x)
            return x * 2

        def jvp(ctx, x):
            assert len(ctx.saved_tensors) == 1
            return x * 2

        with fw.dual_level():
            function(forward, jvp).apply(dual(2).requires_grad_())


class TestResults:
    @pytest.mark.parametrize(
        "forward, jvp, message",
        [
            (lambda ctx, x: x.clone(), lambda ctx, x: (x, x), "expected 1 but got 2"),
            (lambda ctx, x: x.clone(), lambda ctx, x: "a", "expected Variable or None"),
            (lambda ctx, x: x.clone(), lambda ctx, x: x.sum(), "that has a different size"),
            (
                lambda ctx, x: x > 0,
                lambda ctx, x: x,
                "You should return None at that position instead",
            ),
            (lambda ctx, x: x, lambda ctx, x: x, "or an input as-is. but the jvp is not"),
            (lambda ctx, x: x[:1], lambda ctx, x: x[:1].clone(), "jvp is not returning a view"),
            (
                lambda ctx, x: x[:1],
                lambda ctx, x: x[:1].clone().view(1),
                "not returning a view of the given grad input",
            ),
        ],
    )
    def test_must_fit(self, forward, jvp, message):
        with fw.dual_level(), pytest.raises(RuntimeError, match=message):
            function(forward, jvp).apply(dual(2))

    def test_of_a_view_are_views_of_the_same_base(self):
        with fw.dual_level():
            x = dual(2).view(2)
            fn = function(lambda ctx, x: x[:1], lambda ctx, x: x[:1].clone().view(1))
            with pytest.raises(RuntimeError, match="a view of the same base"):
                fn.apply(x)

    def test_of_a_returned_input_are_views(self):
        fn = function(lambda ctx, x: x, lambda ctx, x: x.view_as(x))
        with fw.dual_level():
            x = dual(2)
            assert fw.unpack_dual(fn.apply(x)).tangent._base is fw.unpack_dual(x).tangent

    def test_of_written_inputs_are_written(self):
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        for jvp in (lambda ctx, x: x * 2, lambda ctx, x: x):
            with fw.dual_level(), pytest.raises(RuntimeError, match="gradient inplace"):
                function(forward, jvp).apply(dual(2))
        with fw.dual_level():
            x, tangent = t.ones(2), t.ones(2)
            out = function(forward, lambda ctx, x: x.mul_(2)).apply(fw.make_dual(x, tangent))
            assert fw.unpack_dual(out).tangent is tangent and tangent.tolist() == [2.0, 2.0]


class TestDuals:
    def test_a_tangent_has_no_tangent(self):
        with fw.dual_level(), pytest.raises(RuntimeError, match="that itself has a forward grad"):
            fw.make_dual(t.ones(2), dual(2))

    def test_a_primal_has_no_tangent(self):
        with fw.dual_level():
            primal = fw.unpack_dual(dual(2) * 2).primal
            assert fw.unpack_dual(primal * 3).tangent is None

    def test_detach_in_place_drops_the_tangent(self):
        with fw.dual_level():
            x = dual(2).clone()
            x.detach_()
            assert fw.unpack_dual(x * 2).tangent is None

    def test_a_tangent_takes_the_place_in_memory_of_its_primal(self):
        x, tangent = t.ones(5)[1:4].detach(), t.ones(3)
        with fw.dual_level():
            x = fw.make_dual(x, tangent)
            assert fw.unpack_dual(x).tangent is not tangent
            assert fw.unpack_dual(x.as_strided((5,), (1,), 0)).tangent.tolist() == [0, 1, 1, 1, 0]

    @pytest.mark.parametrize("lazy", [lambda x: x.conj(), lambda x: x._neg_view()])
    def test_a_tangent_is_as_lazy_as_its_primal(self, lazy):
        x, tangent = t.tensor([1 + 2j]), t.tensor([3 + 4j])
        with fw.dual_level():
            for primal, other in ((lazy(x), tangent), (x, lazy(tangent))):
                y = fw.make_dual(primal, other)
                assert fw.unpack_dual(t.imag(y)).tangent.item() == other.imag.item()

    def test_out_has_no_forward_mode(self):
        with fw.dual_level():
            for operands, out in (((t.ones(2), t.ones(2)), dual(2)), ((dual(2), 1), t.ones(2))):
                with pytest.raises(NotImplementedError, match="because it is an out= function"):
                    t.add(*operands, out=out)
