"""grad, vjp, jvp, linearize, Jacobians and their compositions."""

import pytest
import taeda.autograd.forward_ad as forward_ad

import taeda
from taeda import _C
from taeda.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)


def close(a, b):
    return taeda.allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.fixture
def x():
    return taeda.tensor([0.3, -0.7, 1.1], dtype=taeda.float64)


def cube(x):
    return (x**3).sum()


# ---- grad ----


def test_grad(x):
    assert close(grad(cube)(x), 3 * x**2)
    assert not x.requires_grad and x.grad is None


def test_third_derivative(x):
    def d(f):
        return lambda y: grad(f)(y).sum()

    assert close(grad(d(d(cube)))(x), taeda.full((3,), 6.0, dtype=taeda.float64))


def test_argnums_and_aux(x):
    def f(a, b, scale):
        return (a * b).sum() * scale, {"a": a * 2}

    (ga, gb), aux = grad(f, argnums=(0, 1), has_aux=True)(x, x * 2, 3.0)
    assert close(ga, x * 6) and close(gb, x * 3) and close(aux["a"], x * 2)
    assert close(grad(lambda a, b: (a * b).sum(), argnums=-1)(x, x * 2), x)
    grads, (value, aux) = grad_and_value(f, has_aux=True)(x, x, 1.0)
    assert close(value, (x * x).sum()) and close(grads, x)


def test_grad_of_nested_containers(x):
    got = grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": x, "b": [x * 2]})
    assert close(got["w"], x * 2) and close(got["b"][0], x)


def test_gradient_of_what_is_not_used_is_zero(x):
    assert close(grad(lambda a, b: a.sum(), argnums=1)(x, x), taeda.zeros_like(x))


def test_grad_records_for_the_outside(x):
    y = x.clone().requires_grad_()
    grad(cube)(y).sum().backward()
    assert close(y.grad, 6 * x)


def test_captured_tensors_record_outside(x):
    w = x.clone().requires_grad_()
    got = grad(lambda a: (a * w).sum())(x)
    assert got.requires_grad and close(got.detach(), w.detach())


def test_no_grad_inside_and_outside(x):
    def f(a):
        with taeda.no_grad():
            shift = a.sin()
        return (a**2).sum() - (shift * a).sum()

    assert close(grad(f)(x), 2 * x - x.sin())
    with taeda.no_grad():
        assert close(grad(cube)(x), 3 * x**2)
        y = x.clone().requires_grad_()
        assert not grad(cube)(y).requires_grad


def test_detach_cuts_all_levels(x):
    assert close(grad(lambda a: grad(lambda b: (b * a.detach()).sum())(a).sum())(x), x * 0)


def test_in_place_and_views_inside(x):
    def f(a):
        b = a * 2
        b[1:].mul_(a[1:])
        c = b.view(1, 3).squeeze_(0)
        c += a
        return c.sum()

    assert close(grad(f)(x), taeda.cat([taeda.full((1,), 3.0, dtype=x.dtype), 4 * x[1:] + 1]))


def test_a_side_effect_is_a_plain_tensor_afterwards(x):
    kept = []
    grad(lambda a: (kept.append(a * 2), a.sum())[1])(x)
    assert close(kept[0] + 1, x * 2 + 1)


def test_values_can_be_read_under_grad(x):
    def f(a):
        return a.sum() * (2.0 if a[0].item() > 0 and bool(a[2] > 1) else 1.0)

    assert close(grad(f)(x), taeda.full((3,), 2.0, dtype=x.dtype))


# ---- vjp, jvp, linearize ----


def test_vjp_of_several_outputs(x):
    (s, c), pull = vjp(lambda a: (a.sin(), [a.cos()]), x)
    assert close(s, x.sin()) and close(c[0], x.cos())
    (got,) = pull((taeda.ones_like(x), [x]))
    assert close(got, x.cos() - x * x.sin())
    (again,) = pull((taeda.ones_like(x), [x]))
    assert close(got, again)


def test_jvp(x):
    value, tangent = jvp(lambda a, b: a * b.sin(), (x, x * 2), (x, taeda.ones_like(x)))
    assert close(value, x * (2 * x).sin())
    assert close(tangent, x * (2 * x).sin() + x * (2 * x).cos())
    value, tangent, aux = jvp(lambda a: (a.sin(), a), (x,), (x,), has_aux=True)
    assert close(aux, x) and close(tangent, x * x.cos())


def test_jvp_nests(x):
    def d(f):
        return lambda a: jvp(f, (a,), (taeda.ones_like(a),))[1]

    assert close(d(d(d(lambda a: a**4)))(x), 24 * x)


def test_linearize(x):
    value, push = linearize(lambda a, b: (a * b).sin(), x, x * 2)
    for t in (x, taeda.ones_like(x)):
        expected = jvp(lambda a, b: (a * b).sin(), (x, x * 2), (t, t * 3))
        assert close(value, expected[0]) and close(push(t, t * 3), expected[1])


# ---- Jacobians ----


def f_matrix(a):
    return taeda.stack([a.sin() * a.sum(), a**2])


@pytest.mark.parametrize("jac", [jacrev, jacfwd])
def test_jacobians(jac, x):
    expected = taeda.autograd.functional.jacobian(f_matrix, x)
    assert close(jac(f_matrix)(x), expected)


@pytest.mark.parametrize("jac", [jacrev, jacfwd])
def test_jacobians_of_trees(jac, x):
    got = jac(lambda a, b: {"s": a * b, "t": (a.sum(),)}, argnums=(0, 1))(x, x * 2)
    assert close(got["s"][0], taeda.diag_embed(x * 2)) and close(got["s"][1], taeda.diag_embed(x))
    assert got["t"][0][0].shape == (3,) and close(got["t"][0][1], x * 0)


@pytest.mark.parametrize("chunk_size", [1, 2, None])
def test_jacrev_in_chunks(chunk_size, x):
    assert close(jacrev(f_matrix, chunk_size=chunk_size)(x), jacfwd(f_matrix)(x))


@pytest.mark.parametrize("jac", [jacrev, jacfwd])
def test_jacobians_with_aux(jac, x):
    got, aux = jac(lambda a: (a.sin(), a * 2), has_aux=True)(x)
    assert close(got, taeda.diag_embed(x.cos())) and close(aux, x * 2)


def test_hessian_in_all_orders(x):
    def f(a):
        return (a.sin() * a.flip(0).exp()).sum()

    expected = hessian(f)(x)
    for one in (jacrev, jacfwd):
        for other in (jacrev, jacfwd):
            assert close(one(other(f))(x), expected)
    assert close(expected, expected.t())


def test_batch_of_hessians(x):
    xs = taeda.stack([x, x * 2, x + 1])
    expected = taeda.stack([hessian(cube)(a) for a in xs])
    assert close(vmap(hessian(cube))(xs), expected)


def test_compositions_agree(x):
    xs = taeda.stack([x, x * 2])

    def f(a):
        return (a.sin() * a.cumsum(0)).sum()

    one_by_one = taeda.stack([grad(f)(a) for a in xs])
    assert close(vmap(grad(f))(xs), one_by_one)
    assert close(grad(lambda b: vmap(f)(b).sum())(xs), one_by_one)
    assert close(jacrev(vmap(f))(xs).diagonal(0, 0, 1).t(), one_by_one)
    t = taeda.ones_like(xs)
    value, tangent = jvp(vmap(f), (xs,), (t,))
    assert close(tangent, one_by_one.sum(1))
    pushed = vmap(lambda a, b: jvp(f, (a,), (b,))[1])(xs, t)
    assert close(pushed, tangent)


# ---- refusals ----


@pytest.mark.parametrize(
    "call, error, match",
    [
        (
            lambda x: grad(lambda a: a)(x),
            RuntimeError,
            "to return a scalar Tensor, got tensor with 1 dims",
        ),
        (lambda x: grad(lambda a: 1.0)(x), RuntimeError, "to return a Tensor, got <class 'float'>"),
        (
            lambda x: grad(cube, argnums=1)(x),
            RuntimeError,
            "Got argnum=1, but only 1 positional inputs",
        ),
        (lambda x: grad(cube, argnums=())(x), RuntimeError, "argnums must be non-empty"),
        (lambda x: grad(cube, argnums=[0])(x), RuntimeError, "argnums must be int or Tuple"),
        (
            lambda x: grad(lambda a, b: a.sum(), argnums=(0, 0))(x, x),
            RuntimeError,
            "must be unique",
        ),
        (
            lambda x: grad(cube, has_aux=True)(x),
            RuntimeError,
            "output of function f should be a tuple",
        ),
        (
            lambda x: vjp(lambda a: 1, x),
            RuntimeError,
            "expected f\\(\\*primals\\) to return only tensors",
        ),
        (lambda x: vjp(lambda a: [], x), RuntimeError, "function that has non-empty output"),
        (
            lambda x: vjp(lambda a: a > 0, x),
            RuntimeError,
            "must be floating-point or complex Tensors",
        ),
        (
            lambda x: vjp(lambda a: a, x)[1]((x,)),
            RuntimeError,
            "Expected pytree structure of cotangents",
        ),
        (lambda x: jvp(cube, x, x), RuntimeError, "Expected primals to be a tuple"),
        (lambda x: jvp(cube, (x,), (x, x)), RuntimeError, "to have the same python structure"),
        (
            lambda x: jvp(cube, (1.0,), (1.0,)),
            RuntimeError,
            "Expected primals to only contain Tensors",
        ),
        (
            lambda x: jvp(lambda a: taeda.ones(2), (x,), (x,), strict=True),
            RuntimeError,
            "The output of f is independent of the inputs",
        ),
        *(
            (transform, RuntimeError, "Expected tensors, got unsupported type <class 'int'>")
            for transform in (
                lambda x: grad(lambda a: (a.sum(), 1), has_aux=True)(x),
                lambda x: vjp(lambda a: (a, {"n": 1}), x, has_aux=True),
                lambda x: jvp(lambda a: (a, 1), (x,), (x,), has_aux=True),
                lambda x: jacrev(lambda a: (a, (a, 1)), has_aux=True)(x),
                lambda x: jacfwd(lambda a: (a, (a, 1)), has_aux=True)(x),
            )
        ),
        *(
            (
                lambda x, jac=jac, f=f, to=to: jac(f)(x.to(to)),
                RuntimeError,
                f"{name}: Expected all {what} to be real but received complex tensor",
            )
            for name, jac in (("jacrev", jacrev), ("jacfwd", jacfwd))
            for what, f, to in (
                ("inputs", lambda a: a.real, taeda.complex64),
                ("outputs", lambda a: a * 1j, taeda.float32),
            )
        ),
        (
            lambda x: vmap(cube, in_dims=[0])(x),
            ValueError,
            "expected `in_dims` to be int or a .* got: <class 'list'>",
        ),
        (lambda x: jacrev(cube, chunk_size=0), ValueError, "`chunk_size` should be greater than 0"),
        (
            lambda x: grad(lambda a: x.add_(a).sum())(x),
            RuntimeError,
            "would mutate a captured Tensor",
        ),
        (
            lambda x: grad(lambda a: a.numpy().sum())(x),
            RuntimeError,
            "doesn't have storage|requires grad",
        ),
    ],
)
def test_refusals(call, error, match, x):
    with pytest.raises(error, match=match):
        call(x)
    assert _C._num_levels() == 0


@pytest.mark.parametrize(
    "transform",
    [lambda f, x: grad(f)(x), lambda f, x: vjp(f, x), lambda f, x: jacrev(f)(x)],
)
def test_reverse_mode_refuses_hooks_on_what_is_saved(transform, x):
    hooks = taeda.autograd.graph.saved_tensors_hooks

    def hooked(a):
        with hooks(lambda s: s, lambda s: s):
            return a.sin().sum()

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        transform(hooked, x)
    refused = pytest.raises(RuntimeError, match="don't yet support saved tensor hooks")
    with refused, hooks(lambda s: s, lambda s: s):
        transform(lambda a: a.sin().sum(), x)
    assert close(jvp(hooked, (x,), (x,))[1], (x.cos() * x).sum())
    hooked(x)


def test_a_nested_list_of_in_dims_is_a_tree(x):
    assert close(vmap(lambda pair: pair[0] * 2, in_dims=([0],))([x]), x * 2)


# ---- forward mode by dual numbers ----


def test_dual_numbers(x):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, taeda.ones_like(x))
        primal, tangent = forward_ad.unpack_dual(dual.sin() * dual)
        assert close(primal, x.sin() * x) and close(tangent, x.cos() * x + x.sin())
        assert forward_ad.unpack_dual(x).tangent is None
        assert forward_ad.unpack_dual(dual.detach()).tangent is None
        with taeda.no_grad():
            assert forward_ad.unpack_dual(dual * 2).tangent is not None
    assert forward_ad.unpack_dual(dual).tangent is None


def test_in_place_and_views_of_dual_numbers(x):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.clone(), taeda.ones_like(x))
        part = dual[1:]
        dual.mul_(dual)
        assert close(forward_ad.unpack_dual(dual).tangent, 2 * x)
        assert close(forward_ad.unpack_dual(part).tangent, 2 * x[1:])
        out = taeda.zeros(2, 3, dtype=x.dtype)
        row = out[1]
        row.copy_(forward_ad.make_dual(x, x))
        assert close(forward_ad.unpack_dual(out).tangent, taeda.stack([x * 0, x]))


def test_dual_level_refusals(x):
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, x)
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="has a different size than that of the original"):
            forward_ad.make_dual(x, x[:2])
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            forward_ad.make_dual(x, taeda.ones(3, dtype=taeda.int64))
        dual = forward_ad.make_dual(x, x)
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with scatter"):
            dual.scatter(0, taeda.tensor([0]), dual[:1], reduce="add")
        with pytest.raises(NotImplementedError, match="because it is an out= function"):
            taeda.sin(dual, out=taeda.empty_like(x))


def test_batched_tangents_of_dual_numbers(x):
    """A plain dual number whose tangent differs between the examples of a batch."""

    def f(a):
        return (a.sin() * a).cumsum(0)

    def push(direction):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(f(forward_ad.make_dual(x, direction))).tangent

    rows = taeda.eye(3, dtype=x.dtype)
    assert close(vmap(push)(rows), jacfwd(f)(x).t())
    assert taeda.autograd.gradcheck(
        f,
        x.clone().requires_grad_(),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )


class TestInferenceMode:
    """Inside a transform there are gradients, whatever mode holds around it."""

    def test_grad_and_compositions(self):
        with taeda.inference_mode():
            x = taeda.tensor([1.0, 2.0])
            assert grad(lambda x: (x**3).sum())(x).tolist() == [3.0, 12.0]
            assert vmap(grad(grad(lambda x: x**3)))(x).tolist() == [6.0, 12.0]
            assert jacrev(lambda x: x**2)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
            assert hessian(lambda x: (x**3).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
            assert jvp(lambda x: x**2, (x,), (x,))[1].tolist() == [2.0, 8.0]
            assert taeda.is_inference_mode_enabled()

    def test_views_and_writes_inside(self):
        def f(x):
            y = x.clone()
            y[1:].mul_(3)
            return (y * y).sum()

        with taeda.inference_mode():
            found = grad(f)(taeda.ones(2))
        assert found.tolist() == [2.0, 18.0]

    def test_what_was_made_in_the_mode_can_be_differentiated_outside(self):
        with taeda.inference_mode():
            x = taeda.ones(2)
        assert grad(lambda x: (x**2).sum())(x).tolist() == [2.0, 2.0]

    def test_the_mode_comes_back_after_an_error(self):
        with taeda.inference_mode():
            with pytest.raises(ZeroDivisionError):
                grad(lambda x: 1 / 0)(taeda.ones(1))
            assert taeda.is_inference_mode_enabled()
        assert not taeda.is_inference_mode_enabled()
