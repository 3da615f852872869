"""Adagrad: steps over the root of the sum of all squared gradients."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import (
    RuleOptimizer,
    add_quotient,
    call_fused,
    column,
    count,
    decayed,
    refuse_scaling,
    run,
)
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_fused,
    check_lr,
    check_not_negative,
    check_steps,
    is_captured,
)

__all__ = ["Adagrad", "adagrad"]


class Adagrad(RuleOptimizer):
    """Adagrad. The states exist from the start, so that processes may share them."""

    _later_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        check_not_negative(lr_decay, "Invalid lr_decay value: {}")
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        check_not_negative(initial_accumulator_value, "Invalid initial_accumulator_value value: {}")
        check_not_negative(eps, "Invalid epsilon value: {}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(self, fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._new_state(param, group))

    def _new_state(self, param, group):
        start = self.defaults["initial_accumulator_value"]
        start = complex(start, start) if param.is_complex() else start
        return {
            "step": self._scalar(0.0, param, group),
            "sum": _C.full_like(param, start, memory_format=_C.preserve_format),
        }

    def share_memory(self):
        """Moves the sums to memory that other processes see."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _step_group(self, group, params, grads, states):
        adagrad(
            params,
            grads,
            column(states, "sum"),
            column(states, "step"),
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adagrad(
    params,
    grads,
    state_sums,
    state_steps,
    fused=None,
    grad_scale=None,
    found_inf=None,
    has_sparse_grad=False,
    foreach=None,
    differentiable=False,
    has_complex=False,
    *,
    lr,
    weight_decay,
    lr_decay,
    eps,
    maximize,
):
    """A step of Adagrad on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    if is_captured(grad_scale, found_inf):
        fused = foreach = False
    if fused is None and foreach is None:
        fused, foreach = _default_to_fused_or_foreach(
            params, differentiable, use_fused=not isinstance(lr, _C.Tensor)
        )
    settings = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
    if fused:
        if differentiable:
            raise RuntimeError("Adagrad with fused=True does not support differentiable=True")
        _C._foreach_add_(state_steps, 1)
        call_fused(
            _C._fused_adagrad_,
            params,
            grads,
            state_sums,
            state_steps,
            **settings,
            maximize=maximize,
            grad_scale=grad_scale,
            found_inf=found_inf,
        )
        if found_inf is not None:
            _C._foreach_sub_(state_steps, [found_inf] * len(state_steps))
        return
    refuse_scaling(grad_scale, found_inf)
    settings["lr"] = _to_scalar(lr)
    capturable = is_compiling()
    rule = partial(_update, capturable=capturable, **settings)
    run(
        rule,
        params,
        grads,
        [state_sums],
        [state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(param, grad, state_sum, step, *, lr, lr_decay, weight_decay, eps, capturable):
    step = count(step, capturable)
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    state_sum.addcmul_(grad, grad, value=1)
    denom = state_sum.sqrt().add(eps)
    size = -lr / (1 + (step - 1) * lr_decay)
    add_quotient(param, grad, denom, size)
