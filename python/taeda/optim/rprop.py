"""Rprop: a step size per element, which grows while the gradient keeps its sign."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import RuleOptimizer, column, count, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _to_scalar,
    check_capturable,
    check_lr,
    check_steps,
)
from taeda.optim._tensor_groups import apply

__all__ = ["Rprop", "rprop"]


class Rprop(RuleOptimizer):
    """Rprop. `etas` shrink and grow the step sizes, which stay within `step_sizes`."""

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, param, group):
        lr = _to_scalar(group["lr"])
        lr = complex(lr, lr) if param.is_complex() else float(lr)
        return {
            "step": self._scalar(0.0, param, group),
            "prev": _C.zeros_like(param, memory_format=_C.preserve_format),
            "step_size": _C.full_like(param.grad, lr),
        }

    def _step_group(self, group, params, grads, states):
        etaminus, etaplus = group["etas"]
        step_size_min, step_size_max = group["step_sizes"]
        rprop(
            params,
            grads,
            column(states, "prev"),
            column(states, "step_size"),
            column(states, "step"),
            foreach=group["foreach"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            step_size_min=step_size_min,
            step_size_max=step_size_max,
            etaminus=etaminus,
            etaplus=etaplus,
        )


def rprop(
    params,
    grads,
    prevs,
    step_sizes,
    state_steps,
    foreach=None,
    capturable=False,
    maximize=False,
    differentiable=False,
    has_complex=False,
    *,
    step_size_min,
    step_size_max,
    etaminus,
    etaplus,
):
    """A step of Rprop on lists of parameters, gradients and states, in place."""
    check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    capturable = capturable or is_compiling()
    if capturable:
        check_capturable(params, state_steps)
    rule = partial(
        _update,
        etas=(etaminus, etaplus),
        limits=(step_size_min, step_size_max),
        capturable=capturable,
    )
    run(
        rule,
        params,
        grads,
        [prevs, step_sizes],
        [state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(param, grad, prev, step_size, step, *, etas, limits, capturable):
    etaminus, etaplus = etas
    count(step, capturable)
    agreement = grad.mul(prev).sign()

    def factor(sign):
        return _C.where(sign > 0, etaplus, _C.where(sign < 0, etaminus, _C.ones_like(sign)))

    def without_turns(sign, grad):
        # Where the sign changed the minimum lies behind: no step, and none compared with next.
        return _C.where(sign < 0, _C.zeros_like(grad), grad)

    step_size.mul_(apply(factor, agreement)).clamp_min_(limits[0]).clamp_max_(limits[1])
    grad = apply(without_turns, agreement, grad)
    param.addcmul_(grad.sign(), step_size, value=-1)
    prev.copy_(grad)
