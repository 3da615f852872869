"""Adafactor: Adam's denominator from sums over rows and columns, and steps relative to the size."""

from functools import partial

from taeda import _C
from taeda._type_info import finfo
from taeda.autograd.grad_mode import no_grad
from taeda.compiler import is_compiling
from taeda.linalg import vector_norm
from taeda.optim._rule import RuleOptimizer, column, count, lerp_weight, run
from taeda.optim._settings import _get_scalar_dtype, _to_scalar, check_lr

__all__ = ["Adafactor", "adafactor"]


class Adafactor(RuleOptimizer):
    """Adafactor. The state of a matrix is a row and a column, that of a vector a vector.

    Its sums have another shape for each parameter, so that `foreach` changes nothing.
    """

    _later_options = {"foreach": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _scalar(self, value, param, group):
        return _C.full((), value, dtype=_get_scalar_dtype())

    def _new_state(self, param, group):
        grad, step = param.grad, self._scalar(0.0, param, group)
        if grad.dim() < 2:
            variance = _C.zeros_like(grad, memory_format=_C.preserve_format)
            return {"step": step, "variance": variance}
        *outer, rows, columns = grad.shape
        return {
            "step": step,
            "row_var": grad.new_zeros([*outer, rows, 1]),
            "col_var": grad.new_zeros([*outer, 1, columns]),
        }

    def _gather(self, group):
        if any(param.grad is not None and param.is_complex() for param in group["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")
        return super()._gather(group)

    @no_grad()
    def step(self, closure=None):
        """Changes the parameters by their gradients. `closure` computes the loss anew."""
        return self._plain_step(closure)

    def _step_group(self, group, params, grads, states):
        eps1, eps2 = group["eps"]
        adafactor(
            params,
            grads,
            [state.get("row_var") for state in states],
            [state.get("col_var") for state in states],
            [state.get("variance") for state in states],
            column(states, "step"),
            foreach=group["foreach"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            d=group["d"],
            lr=group["lr"],
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=eps1,
            eps2=eps2,
            maximize=group["maximize"],
        )


def adafactor(
    params,
    grads,
    row_vars,
    col_vars,
    variances,
    state_steps,
    foreach=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    *,
    d,
    lr,
    beta2_decay,
    weight_decay,
    eps1,
    eps2,
    maximize,
):
    """A step of Adafactor on lists of parameters, gradients and states, in place."""
    if not all(isinstance(step, _C.Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    capturable = is_compiling()
    rule = partial(
        _update,
        capturable=capturable,
        d=d,
        lr=_to_scalar(lr),
        beta2_decay=beta2_decay,
        weight_decay=weight_decay,
        eps1=eps1,
        eps2=eps2,
    )
    states = [row_vars, col_vars, variances]
    run(rule, params, grads, states, [state_steps], maximize=maximize, capturable=capturable)


def _rms(tensor, capturable):
    norm = vector_norm(tensor)
    return (norm if capturable else norm.item()) / tensor.numel() ** 0.5


def _larger(value, least):
    return value.clamp_min(least) if isinstance(value, _C.Tensor) else max(value, least)


def _smaller(value, most):
    return value.clamp_max(most) if isinstance(value, _C.Tensor) else min(value, most)


def _update(
    param,
    grad,
    row_var,
    col_var,
    variance,
    step,
    *,
    d,
    lr,
    beta2_decay,
    weight_decay,
    eps1,
    eps2,
    capturable,
):
    eps1 = finfo(param.dtype).eps if eps1 is None else eps1
    step = count(step, capturable)
    weight = lerp_weight(step**beta2_decay, param)
    size = _larger(_rms(param, capturable), eps2) * _smaller(1 / step**0.5, lr)
    if weight_decay != 0:
        param.mul_(1 - lr * weight_decay)
    if variance is None:
        row_var.lerp_(_mean_square(grad, -1), weight)
        col_var.lerp_(_mean_square(grad, -2), weight)
        estimate = row_var @ col_var
        estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
    else:
        variance.lerp_(grad * grad, weight)
        estimate = variance.clone()
    update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
    size = -size / _larger(_rms(update, capturable) / d, 1.0)
    if capturable:
        param.add_(update.mul_(size))
    else:
        param.add_(update, alpha=size)


def _mean_square(grad, dim):
    return vector_norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
