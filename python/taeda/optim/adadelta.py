"""Adadelta: steps in units of the parameters, by means of squares of gradients and steps."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import RuleOptimizer, add_multiple, column, count, decayed, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_capturable,
    check_lr,
    check_not_negative,
    check_steps,
)

__all__ = ["Adadelta", "adadelta"]


class Adadelta(RuleOptimizer):
    """Adadelta."""

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(eps, "Invalid epsilon value: {}")
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": self._scalar(0.0, param, group),
            "square_avg": _C.zeros_like(param, memory_format=_C.preserve_format),
            "acc_delta": _C.zeros_like(param, memory_format=_C.preserve_format),
        }

    def _step_group(self, group, params, grads, states):
        adadelta(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "acc_delta"),
            column(states, "step"),
            capturable=group["capturable"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def adadelta(
    params,
    grads,
    square_avgs,
    acc_deltas,
    state_steps,
    capturable=False,
    foreach=None,
    differentiable=False,
    has_complex=False,
    *,
    lr,
    rho,
    eps,
    weight_decay,
    maximize,
):
    """A step of Adadelta on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps, supports_xla=False)
    rule = partial(
        _update,
        lr=_to_scalar(lr),
        rho=rho,
        eps=eps,
        weight_decay=weight_decay,
        capturable=capturable,
    )
    run(
        rule,
        params,
        grads,
        [square_avgs, acc_deltas],
        [state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(
    param,
    grad,
    square_avg,
    acc_delta,
    step,
    *,
    lr,
    rho,
    eps,
    weight_decay,
    capturable,
):
    count(step, capturable)
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    std = square_avg.add(eps).sqrt_()
    delta = acc_delta.add(eps).sqrt_().div(std).mul_(grad)
    acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    add_multiple(param, delta, -lr)
