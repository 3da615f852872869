"""NAdam: Adam with Nesterov's momentum."""

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
    number,
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

__all__ = ["NAdam", "nadam"]


class NAdam(RuleOptimizer):
    """NAdam, with coupled or decoupled weight decay."""

    _later_options = {**RuleOptimizer._later_options, "decoupled_weight_decay": False}
    _scalars = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
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
        check_not_negative(momentum_decay, "Invalid momentum_decay value: {}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        return {
            "step": self._scalar(0.0, param, group),
            "mu_product": self._scalar(1.0, param, group),
            "exp_avg": _C.zeros_like(param, memory_format=_C.preserve_format),
            "exp_avg_sq": _C.zeros_like(param, memory_format=_C.preserve_format),
        }

    def _step_group(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        nadam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "mu_product"),
            column(states, "step"),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            maximize=group["maximize"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum_decay=group["momentum_decay"],
            eps=group["eps"],
        )


def nadam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    mu_products,
    state_steps,
    decoupled_weight_decay=False,
    foreach=None,
    capturable=False,
    differentiable=False,
    has_complex=False,
    maximize=False,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    momentum_decay,
    eps,
):
    """A step of NAdam on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    check_steps(mu_products, "mu_products")
    capturable = capturable or is_compiling()
    if capturable:
        names = f"params, mu_products{',' if foreach else ''} and state_steps"
        xla = not foreach
        check_capturable(params, mu_products, state_steps, names=names, supports_xla=xla)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    rule = partial(
        _update,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        momentum_decay=momentum_decay,
        eps=eps,
        decoupled_weight_decay=decoupled_weight_decay,
        capturable=capturable,
    )
    run(
        rule,
        params,
        grads,
        [exp_avgs, exp_avg_sqs],
        [mu_products, state_steps],
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
    mu_product,
    step,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    momentum_decay,
    eps,
    decoupled_weight_decay,
    capturable,
):
    step = count(step, capturable)
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    mu = beta1 * (1.0 - 0.5 * power(0.96, step * momentum_decay))
    mu_next = beta1 * (1.0 - 0.5 * power(0.96, (step + 1) * momentum_decay))
    mu_product.mul_(acting_on(mu_product, mu))
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denom = exp_avg_sq.div(acting_on(param, 1 - power(beta2, step))).sqrt().add(eps)
    product = number(mu_product, capturable)
    of_grad = -lr * acting_on(lr, 1.0 - mu) / acting_on(lr, 1.0 - product)
    of_mean = -lr * acting_on(lr, mu_next) / acting_on(lr, 1.0 - product * mu_next)
    add_quotient(param, grad, denom, of_grad)
    add_quotient(param, exp_avg, denom, of_mean)
