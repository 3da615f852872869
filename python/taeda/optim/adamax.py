"""Adamax: Adam whose denominator is a decaying maximum of the gradients."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import (
    RuleOptimizer,
    acting_on,
    add_quotient,
    column,
    count,
    decayed,
    power,
    run,
)
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_betas,
    check_capturable,
    check_lr,
    check_not_negative,
    check_steps,
)

__all__ = ["Adamax", "adamax"]


class Adamax(RuleOptimizer):
    """Adamax, the form of Adam for the infinity norm."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_not_negative(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": self._scalar(0.0, param, group),
            "exp_avg": _C.zeros_like(param, memory_format=_C.preserve_format),
            "exp_inf": _C.zeros_like(param, memory_format=_C.preserve_format),
        }

    def _step_group(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        adamax(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_inf"),
            column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            eps=group["eps"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
        )


def adamax(
    params,
    grads,
    exp_avgs,
    exp_infs,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    eps,
    beta1,
    beta2,
    lr,
    weight_decay,
):
    """A step of Adamax on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps, supports_xla=not foreach)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    rule = partial(
        _update,
        eps=eps,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        capturable=capturable,
    )
    states = [exp_avgs, exp_infs]
    run(
        rule,
        params,
        grads,
        states,
        [state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(
    param, grad, exp_avg, exp_inf, step, *, eps, beta1, beta2, lr, weight_decay, capturable
):
    step = count(step, capturable)
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    exp_avg.lerp_(grad, 1 - beta1)
    exp_inf.mul_(beta2).clamp_min_(grad.abs().add_(eps))
    if capturable and not is_compiling():
        param.addcdiv_(exp_avg, exp_inf * ((beta1**step - 1) / lr))
    else:
        add_quotient(param, exp_avg, exp_inf, -lr / acting_on(lr, 1 - power(beta1, step)))
