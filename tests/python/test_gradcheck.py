"""gradcheck and gradgradcheck accept right derivatives and name what is wrong with others."""

import importlib

import pytest
from under_test import NAME, t

autograd = importlib.import_module(f"{NAME}.autograd")
GradcheckError = importlib.import_module(f"{NAME}.autograd.gradcheck").GradcheckError
gradcheck, gradgradcheck = autograd.gradcheck, autograd.gradgradcheck


def rand(*shape, dtype=t.float64):
    return (t.rand(*shape, dtype=dtype) + 0.5).requires_grad_()


def custom(backward, forward=lambda x: x * 2):
    """A function whose gradient is `backward(gradient, x)`."""

    class Custom(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, gradient):
            return backward(gradient, *ctx.saved_tensors)

    return Custom.apply


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_right_derivatives_pass(dtype, fast_mode):
    dtype = getattr(t, dtype)
    x, y = rand(2, 3, dtype=dtype), rand(3, dtype=dtype)
    plain = t.ones(3, dtype=dtype)
    for function in (
        lambda a, b, c: a * b.exp() + c,
        lambda a, b, c: (a.sin() * b, (a @ b).sum(), c),
        lambda a, b, c: [a.abs().sum(), b.t()],
        lambda a, b, c: a,
        lambda a, b, c: a.detach() * 0,
    ):
        assert gradcheck(function, (x, y, plain), fast_mode=fast_mode)
    assert gradgradcheck(lambda a, b: a * b.exp() * a, (x, y), fast_mode=fast_mode)
    assert gradgradcheck(
        lambda a: (a**3).sum(0), (x,), fast_mode=fast_mode, gen_non_contig_grad_outputs=True
    )


def test_mixed_real_and_complex():
    x, z = rand(3), rand(3, dtype=t.complex128)
    for function in (lambda a, b: a * b, lambda a, b: (a * b).real, lambda a, b: (a, a * b.conj())):
        assert gradcheck(function, (x, z))
        assert gradcheck(function, (x, z), fast_mode=True)
        assert gradgradcheck(function, (x, z))


def test_one_tensor_needs_no_tuple_and_empty_tensors_pass():
    assert gradcheck(lambda a: a.exp(), rand(2))
    assert gradcheck(lambda a: a.exp(), rand(0))
    assert gradcheck(lambda a: a.sum(), rand(0, 2))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradient(fast_mode):
    function = custom(lambda gradient, x: gradient * 3)
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(function, rand(2), fast_mode=fast_mode)
    assert not gradcheck(function, rand(2), fast_mode=fast_mode, raise_exception=False)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_complex_gradient_names_the_part(fast_mode):
    function = custom(lambda gradient, x: gradient * 2j)
    with pytest.raises(
        GradcheckError, match="While considering the imaginary part of complex outputs only, "
    ):
        gradcheck(function, rand(2, dtype=t.complex128), fast_mode=fast_mode)


def test_positions_of_the_mismatch():
    wrong = custom(lambda gradient, x: gradient * 3)
    with pytest.raises(GradcheckError, match="for output 1 with respect to input 1"):
        gradcheck(lambda a, b: (a + b, a + wrong(b)), (rand(2), rand(2)))


def test_wrong_second_derivative():
    # The gradient is right but is computed from detached values.
    function = custom(lambda gradient, x: gradient * 2 * x.detach(), lambda x: x * x)
    assert gradcheck(function, rand(2))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(function, rand(2))


def test_backward_that_is_not_deterministic():
    calls = []

    def backward(gradient, x):
        calls.append(1)
        return gradient * 2 + len(calls) * 1e-7

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(custom(backward), rand(2))
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(custom(backward), rand(2), nondet_tol=1e-3)


def test_backward_that_ignores_its_gradient():
    function = custom(lambda gradient, x: t.full_like(x, 2), lambda x: x.sum() * 2)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(function, rand(2))


def test_backward_that_cannot_take_missing_gradients():
    class TwoOutputs(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            if first is None and second is None:
                raise RuntimeError("no gradient")
            parts = [g * k for g, k in ((first, 2), (second, 3)) if g is not None]
            return sum(parts)

    assert gradcheck(TwoOutputs.apply, rand(2), check_undefined_grad=False)
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking"),
        pytest.raises(GradcheckError, match="to handle undefined output grads"),
    ):
        gradcheck(TwoOutputs.apply, rand(2))


def test_function_that_hides_a_dependence():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: (x * 2).detach(), rand(2))


def test_bad_arguments():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, t.ones(2, dtype=t.float64))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x, rand(1).expand(3))
    with pytest.raises(AssertionError, match="at least one of check_forward_ad"):
        gradcheck(lambda x: x, rand(2), check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires"):
        gradcheck(
            lambda x: x,
            rand(2),
            check_backward_ad=False,
            check_forward_ad=True,
            check_batched_grad=True,
        )
    with pytest.raises(AssertionError, match="at least one of check_fwd_over_rev"):
        gradgradcheck(lambda x: x, rand(2), check_rev_over_rev=False)


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="is not a double precision floating point or complex"):
        gradcheck(lambda x: x * 2, rand(2, dtype=t.float32), eps=1e-2, atol=1e-2)


def test_results_of_changing_shape():
    start = 1.0

    def function(x):
        return x[: 1 + int(x.detach()[0].item() > start)]

    x = t.tensor([start, 2.0], dtype=t.float64, requires_grad=True)
    with pytest.raises(
        AssertionError, match="Expected `func` to return outputs with the same shape"
    ):
        gradcheck(function, x)


def test_inputs_and_graphs_are_left_as_they_were():
    x = rand(3)
    before, version = x.tolist(), x._version
    y = x.exp()
    assert gradcheck(lambda a: a * a, x)
    assert x.tolist() == before and x._version == version and x.grad is None
    y.sum().backward()
