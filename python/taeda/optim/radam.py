"""RAdam: Adam that waits with adaptive steps until the variance of its denominator is small."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import RuleOptimizer, acting_on, column, count, decayed, power, root, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_betas,
    check_capturable,
    check_lr,
    check_not_negative,
    check_steps,
)

__all__ = ["RAdam", "radam"]


class RAdam(RuleOptimizer):
    """RAdam, with coupled or decoupled weight decay."""

    _later_options = {**RuleOptimizer._later_options, "decoupled_weight_decay": False}

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": self._scalar(0.0, param, group),
            "exp_avg": _C.zeros_like(param, memory_format=_C.preserve_format),
            "exp_avg_sq": _C.zeros_like(param, memory_format=_C.preserve_format),
        }

    def _step_group(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        radam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "step"),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
        )


def radam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    state_steps,
    decoupled_weight_decay=False,
    foreach=None,
    differentiable=False,
    capturable=False,
    has_complex=False,
    maximize=False,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
):
    """A step of RAdam on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps, supports_xla=not foreach)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    rule = partial(
        _update,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        eps=eps,
        decoupled_weight_decay=decoupled_weight_decay,
        capturable=capturable,
    )
    run(
        rule,
        params,
        grads,
        [exp_avgs, exp_avg_sqs],
        [state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(
    param,
    grad,
    exp_avg,
    exp_avg_sq,
    step,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    decoupled_weight_decay,
    capturable,
):
    step = count(step, capturable)
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    power2 = power(beta2, step)
    correction2 = 1 - power2
    # The length of the mean of squares, as of a simple moving average, now and in the limit.
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * power2 / correction2

    def adaptive():
        rectified = (length - 4) * (length - 2) * longest
        rectified = root(rectified / ((longest - 4) * (longest - 2) * length))
        scaled = exp_avg_sq.sqrt().add(eps).reciprocal() * acting_on(param, root(correction2))
        return scaled * acting_on(param, rectified)

    update = (exp_avg / acting_on(param, 1 - power(beta1, step))) * acting_on(param, lr)
    if capturable:
        update = update * _C.where(length > 5.0, adaptive(), 1.0)
    elif length > 5.0:
        update = update * adaptive()
    param.add_(update, alpha=-1.0)
