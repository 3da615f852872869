"""autograd.Function under transforms and forward mode."""

import pytest
import taeda.autograd.forward_ad as forward_ad

import taeda
from taeda.autograd import Function
from taeda.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


class Cube(Function):
    """x^3 with a derivative that betrays itself: it is ten times too large."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.factor = 10

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.factor * 3 * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * ctx.factor * 3 * x**2


class ScaledProduct(Function):
    """a * b with a vmap rule that counts its calls."""

    calls = 0

    @staticmethod
    def forward(a, b, scale):
        return a * b * scale, a + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b, scale = inputs
        ctx.save_for_backward(a, b)
        ctx.scale = scale

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b * ctx.scale + h, g * a * ctx.scale + h, None

    @staticmethod
    def vmap(info, in_dims, a, b, scale):
        ScaledProduct.calls += 1
        assert info.batch_size == 3 and info.randomness == "error"
        a = a if in_dims[0] is None else a.movedim(in_dims[0], 0).unsqueeze(-1)
        b = b if in_dims[1] is None else b.movedim(in_dims[1], 0)
        return ScaledProduct.apply(a, b, scale), (0, 0)


@pytest.fixture
def x():
    return taeda.tensor([0.5, -1.0, 2.0], dtype=taeda.float64)


def close(a, b):
    return taeda.allclose(a, b, rtol=1e-9, atol=1e-12)


def total(x):
    return Cube.apply(x).sum()


def test_grad_uses_the_functions_own_backward(x):
    assert close(grad(total)(x), 30 * x**2)
    assert close(grad(lambda a: grad(total)(a).sum())(x), 60 * x)
    assert close(vjp(Cube.apply, x)[1](taeda.ones_like(x))[0], 30 * x**2)
    assert close(jacrev(Cube.apply)(x), taeda.diag_embed(30 * x**2))


def test_jvp_uses_the_functions_own_jvp(x):
    assert close(jvp(Cube.apply, (x,), (taeda.ones_like(x),))[1], 30 * x**2)
    assert close(jacfwd(Cube.apply)(x), taeda.diag_embed(30 * x**2))
    with forward_ad.dual_level():
        out = Cube.apply(forward_ad.make_dual(x, x))
        assert close(forward_ad.unpack_dual(out).tangent, 30 * x**3)


def test_hessian(x):
    assert close(hessian(total)(x), taeda.diag_embed(60 * x))


def test_generated_vmap_rule(x):
    xs = taeda.stack([x, x * 2])
    assert close(vmap(Cube.apply)(xs), xs**3)
    assert close(vmap(grad(total))(xs), 30 * xs**2)
    assert close(grad(lambda a: vmap(Cube.apply)(a).sum())(xs), 30 * xs**2)
    assert close(vmap(vmap(grad(Cube.apply)))(xs), 30 * xs**2)
    assert close(jvp(vmap(Cube.apply), (xs,), (xs,))[1], 30 * xs**3)
    leaf = xs.clone().requires_grad_()
    vmap(Cube.apply)(leaf).sum().backward()
    assert close(leaf.grad, 30 * xs**2)


def test_rule_of_its_own(x):
    before = ScaledProduct.calls
    b = taeda.ones(3, 3, dtype=x.dtype) * 2
    first, second = vmap(lambda a, c: ScaledProduct.apply(a, c, 5.0), in_dims=(0, 1))(x, b)
    assert close(first, (x.unsqueeze(1) * 10).expand(3, 3)) and second.shape == (3, 3)
    assert ScaledProduct.calls == before + 1

    def f(a, c):
        return ScaledProduct.apply(a, c, 5.0)[0].sum()

    assert close(
        vmap(grad(f, argnums=1), in_dims=(0, None))(x, b[0]), (x * 5).unsqueeze(1).expand(3, 3)
    )


def test_arguments_that_are_the_same_for_every_example_get_the_sum():
    class Mul(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    w = taeda.ones(3, requires_grad=True)
    xs = taeda.arange(6.0).view(2, 3)
    vmap(Mul.apply, in_dims=(0, None))(xs, w).sum().backward()
    assert close(w.grad, xs.sum(0))


def test_refusals(x):
    class NoSetup(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    class NoRule(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    class Both(NoRule):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    class WrongRule(NoRule):
        @staticmethod
        def vmap(info, in_dims, x):
            return x

    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        grad(lambda a: NoSetup.apply(a).sum())(x)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(NoRule.apply)(x)
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        vmap(Both.apply)(x)
    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        vmap(WrongRule.apply)(x)
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        jvp(NoRule.apply, (x,), (x,))
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        grad(lambda a: NoRule.apply(a).sum())(x)


def test_batched_gradients(x):
    leaf = x.clone().requires_grad_()
    y = leaf**2
    rows = taeda.eye(3, dtype=x.dtype)
    (got,) = taeda.autograd.grad(y, leaf, rows, is_grads_batched=True, retain_graph=True)
    assert close(got, taeda.diag_embed(2 * x))
    other = taeda.ones(3, requires_grad=True)
    got, none = taeda.autograd.grad(
        y, [leaf, other], rows, is_grads_batched=True, allow_unused=True, create_graph=True
    )
    assert none is None and got.requires_grad
    got.sum().backward()
    assert close(leaf.grad, taeda.full((3,), 2.0, dtype=x.dtype))
