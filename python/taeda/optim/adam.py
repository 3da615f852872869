"""Adam: steps in proportion to running means of gradients over roots of those of their squares."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import (
    RuleOptimizer,
    acting_on,
    add_quotient,
    call_fused,
    column,
    count,
    decayed,
    lerp_weight,
    power,
    refuse_scaling,
    root,
    run,
)
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_betas,
    check_capturable,
    check_fused,
    check_lr,
    check_not_negative,
    check_steps,
    is_captured,
)

__all__ = ["Adam", "adam"]

_LR_IN_LISTS = "lr as a Tensor is not supported for capturable=False and foreach=True"


class Adam(RuleOptimizer):
    """Adam, with decoupled weight decay (AdamW) and the running maximum of AMSGrad as options.

    `foreach`, `fused`: whether a step takes lists of tensors, or is one kernel; without a word it
    is fused for float32 and float64 parameters on the CPU, whose values are the same.
    """

    _later_options = {
        **RuleOptimizer._later_options,
        "amsgrad": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _sparse_message = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, _C.Tensor) and foreach and not capturable:
            raise ValueError(_LR_IN_LISTS)
        check_lr(lr)
        check_not_negative(eps, "Invalid epsilon value: {}")
        check_betas(betas)
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        _check_beta_types(betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": tuple(map(_to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(self, fused, foreach, differentiable)

    def _new_state(self, param, group):
        state = {
            "step": self._scalar(0.0, param, group),
            "exp_avg": _C.zeros_like(param, memory_format=_C.preserve_format),
            "exp_avg_sq": _C.zeros_like(param, memory_format=_C.preserve_format),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _C.zeros_like(param, memory_format=_C.preserve_format)
        return state

    def _step_group(self, group, params, grads, states):
        steps = column(states, "step")
        if group["differentiable"] and any(step.requires_grad for step in steps):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        beta1, beta2 = group["betas"]
        adam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            steps,
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            amsgrad=group["amsgrad"],
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def _check_beta_types(betas, foreach, capturable):
    are_tensors = {isinstance(beta, _C.Tensor) for beta in betas}
    if are_tensors not in ({True}, {False}) or not all(
        isinstance(beta, (float, _C.Tensor)) for beta in betas
    ):
        raise ValueError("betas must be either both floats or both Tensors")
    if are_tensors == {False}:
        return
    for i, beta in enumerate(betas):
        if foreach and not capturable:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


def adam(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    foreach=None,
    capturable=False,
    differentiable=False,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_complex=False,
    decoupled_weight_decay=False,
    *,
    amsgrad,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
):
    """A step of Adam on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    if is_captured(grad_scale, found_inf):
        fused = foreach = False
    if fused is None and foreach is None:
        has_tensors = isinstance(beta1, _C.Tensor) or isinstance(lr, _C.Tensor)
        if not has_tensors:
            fused, foreach = _default_to_fused_or_foreach(
                params, differentiable or capturable, use_fused=True
            )
    if foreach and isinstance(lr, _C.Tensor) and not capturable:
        raise RuntimeError(_LR_IN_LISTS)
    states = [exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else []]
    settings = {"lr": lr, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay, "eps": eps}
    if fused:
        if differentiable:
            raise RuntimeError("Adam with fused=True does not support differentiable=True")
        operator = _C._fused_adamw_ if decoupled_weight_decay else _C._fused_adam_
        settings.update(amsgrad=amsgrad, maximize=maximize)
        call_fused(
            _fused, operator, [params, grads, *states, state_steps], settings, grad_scale, found_inf
        )
        return
    refuse_scaling(grad_scale, found_inf)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps, supports_xla=not foreach)
    for name in ("lr", "beta1", "beta2"):
        settings[name] = _to_scalar(settings[name])
    rule = partial(
        _update,
        decoupled_weight_decay=decoupled_weight_decay,
        capturable=capturable,
        differentiable=differentiable,
        **settings,
    )
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


def _fused(operator, columns, settings, grad_scale, found_inf):
    """The step as one kernel. A step with an infinite gradient does nothing and is not counted."""
    steps = columns[-1]
    for name in ("beta1", "beta2"):
        settings[name] = float(settings[name])
    _C._foreach_add_(steps, 1)
    operator(*columns, **settings, grad_scale=grad_scale, found_inf=found_inf)
    if found_inf is not None:
        _C._foreach_sub_(steps, [found_inf] * len(steps))


def _update(
    param,
    grad,
    exp_avg,
    exp_avg_sq,
    max_exp_avg_sq,
    step,
    *,
    lr,
    beta1,
    beta2,
    weight_decay,
    eps,
    decoupled_weight_decay,
    capturable,
    differentiable,
):
    step = count(step, capturable)
    if weight_decay != 0 and decoupled_weight_decay:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    exp_avg.lerp_(grad, lerp_weight(1 - beta1, param))
    if isinstance(beta2, _C.Tensor) and beta2.requires_grad:
        exp_avg_sq.lerp_(grad.square(), lerp_weight(1 - beta2, param))
    else:
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    if max_exp_avg_sq is not None:
        max_exp_avg_sq.clamp_min_(exp_avg_sq)
        exp_avg_sq = max_exp_avg_sq
    step_size = lr / acting_on(lr, 1 - power(beta1, step))
    correction = root(1 - power(beta2, step))
    if differentiable or (capturable and not is_compiling()):
        # The step size goes into the denominator: as a `value` it would be read, and have no graph.
        denom = (exp_avg_sq.sqrt() / (correction * -step_size)).add_(eps / -step_size)
        param.addcdiv_(exp_avg, denom)
    else:
        denom = exp_avg_sq.sqrt().div_(acting_on(param, correction)).add_(eps)
        add_quotient(param, exp_avg, denom, -step_size)
