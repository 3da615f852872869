"""gradcheck and gradgradcheck: derivatives compared with finite differences."""

from taeda import _C


class GradcheckError(RuntimeError):
    """Raised by gradcheck and gradgradcheck where a derivative is wrong."""


def as_tuple(values):
    """A function's arguments or results as a tuple, where one alone may stand for itself."""
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def is_differentiable(value):
    """Whether the value is a tensor that takes part in differentiation."""
    return isinstance(value, _C.Tensor) and value.requires_grad


def _require(condition, message):
    if not condition:
        raise AssertionError(message)


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Compares the derivatives of `func` at `inputs` with central differences of width `eps`.

    Returns True where all agree within `atol + rtol * |numerical|`; else raises GradcheckError, or
    returns False with `raise_exception=False`. A complex output is checked as its real and its
    imaginary part. `fast_mode` compares one random projection of each Jacobian in place of all its
    entries. `masked` concerns sparse tensors only.
    """
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _require(
        check_backward_ad or not check_batched_grad,
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    from taeda.autograd import _gradcheck_support, _jacobian_check

    args = as_tuple(inputs)
    tolerance = _jacobian_check.Tolerance(eps, atol, rtol, nondet_tol)
    try:
        _jacobian_check.check_arguments(args)
        case = _jacobian_check.Case(func, args, tolerance)
        if check_backward_ad:
            _jacobian_check.check_backward(case, fast_mode, check_grad_dtypes)
        if check_forward_ad:
            _jacobian_check.check_forward(case, fast_mode, check_grad_dtypes)
            if check_undefined_grad:
                _gradcheck_support.check_undefined_tangents(case)
        if check_batched_forward_grad:
            _gradcheck_support.check_batched_tangents(case)
        if check_backward_ad:
            if check_batched_grad:
                _gradcheck_support.check_batched_gradients(case)
            _gradcheck_support.check_zero_gradients(case, masked)
            if check_undefined_grad:
                _gradcheck_support.check_undefined_gradients(case)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """Compares the derivatives of `func`'s gradients with central differences.

    The gradients are those for `grad_outputs`, random where None; they are differentiated with
    respect to both `inputs` and `grad_outputs`. The other arguments are gradcheck's.
    """
    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    for name, value in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        _require(
            check_rev_over_rev or not value,
            f"Setting {name}=True requires check_rev_over_rev to be True",
        )
    args = as_tuple(inputs)
    if grad_outputs is None:
        results = [r for r in as_tuple(func(*args)) if is_differentiable(r)]
        seeds = tuple(_random_seed(r, gen_non_contig_grad_outputs) for r in results)
    else:
        seeds = as_tuple(grad_outputs)
    return gradcheck(
        _gradient_function(func, args, seeds),
        args + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_seed(result, is_strided):
    """A gradient for a result, of values in [-1, 1); if `is_strided`, with gaps in memory."""
    size = tuple(result.size())
    if is_strided and result.numel() > 1:
        spaced = _C.empty((*size, 2), dtype=result.dtype, device=result.device)
        seed = spaced.select(-1, 0)
    else:
        seed = _C.empty(size, dtype=result.dtype, device=result.device)
    parts = _C.view_as_real(seed) if seed.is_complex() else seed
    parts.uniform_(-1, 1)
    return seed.detach().requires_grad_()


def _gradient_function(func, args, seeds):
    """The function from arguments and seeds to the gradients of `func`."""
    from taeda.autograd import grad

    # Checks in forward mode pass detached arguments: which need a gradient is noted here.
    needs_grad = [is_differentiable(value) for value in args + seeds]

    def gradients(*values):
        values = [v.requires_grad_() if needs else v for v, needs in zip(values, needs_grad)]
        arguments, cotangents = values[: len(args)], values[len(args) :]
        results = tuple(r for r in as_tuple(func(*arguments)) if is_differentiable(r))
        wanted = [v for v, needs in zip(arguments, needs_grad) if needs]
        found = grad(results, wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradients
