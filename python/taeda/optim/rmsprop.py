"""RMSprop: steps over the root of a running mean of squared gradients."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import RuleOptimizer, add_multiple, add_quotient, column, count, decayed, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_capturable,
    check_lr,
    check_not_negative,
    check_steps,
)

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(RuleOptimizer):
    """RMSprop, with momentum and the variance in place of the mean of squares as options."""

    _later_options = {**RuleOptimizer._later_options, "momentum": 0, "centered": False}

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check_not_negative(eps, "Invalid epsilon value: {}")
        check_not_negative(momentum, "Invalid momentum value: {}")
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        check_not_negative(alpha, "Invalid alpha value: {}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        zeros = partial(_C.zeros_like, param, memory_format=_C.preserve_format)
        state = {"step": self._scalar(0.0, param, group), "square_avg": zeros()}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros()
        if group["centered"]:
            state["grad_avg"] = zeros()
        return state

    def _step_group(self, group, params, grads, states):
        rmsprop(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "grad_avg") if group["centered"] else [],
            column(states, "momentum_buffer") if group["momentum"] > 0 else [],
            column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lr=group["lr"],
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            centered=group["centered"],
        )


def rmsprop(
    params,
    grads,
    square_avgs,
    grad_avgs,
    momentum_buffer_list,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    lr,
    alpha,
    eps,
    weight_decay,
    momentum,
    centered,
):
    """A step of RMSprop on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps)
    rule = partial(
        _update,
        lr=_to_scalar(lr),
        alpha=alpha,
        eps=eps,
        weight_decay=weight_decay,
        momentum=momentum,
        capturable=capturable,
    )
    means = grad_avgs if centered else []
    buffers = momentum_buffer_list if momentum > 0 else []
    run(
        rule,
        params,
        grads,
        [square_avgs, means, buffers],
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
    grad_avg,
    buffer,
    step,
    *,
    lr,
    alpha,
    eps,
    weight_decay,
    momentum,
    capturable,
):
    count(step, capturable)
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if grad_avg is not None:
        grad_avg.lerp_(grad, 1 - alpha)
        root = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
    else:
        root = square_avg.sqrt()
    root = root.add(eps)
    if buffer is not None:
        buffer.mul_(momentum).addcdiv_(grad, root)
        add_multiple(param, buffer, -lr)
    else:
        add_quotient(param, grad, root, -lr)
