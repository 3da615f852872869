"""ASGD: gradient descent whose result is the mean of the parameters over its steps."""

from functools import partial

from taeda import _C
from taeda.compiler import is_compiling
from taeda.optim._rule import RuleOptimizer, acting_on, column, count, decayed, number, power, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _get_scalar_dtype,
    _to_scalar,
    check_capturable,
    check_lr,
    check_not_negative,
)

__all__ = ["ASGD", "asgd"]


class ASGD(RuleOptimizer):
    """Averaged gradient descent. From step `t0` on the state `ax` holds the mean."""

    _scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_not_negative(weight_decay, "Invalid weight_decay value: {}")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _scalar(self, value, param, group):
        return _C.full((), value, dtype=_get_scalar_dtype(), device=param.device)

    def _new_state(self, param, group):
        return {
            "step": self._scalar(0.0, param, group),
            "eta": self._scalar(float(group["lr"]), param, group),
            "mu": self._scalar(1.0, param, group),
            "ax": _C.zeros_like(param, memory_format=_C.preserve_format),
        }

    def _step_group(self, group, params, grads, states):
        asgd(
            params,
            grads,
            column(states, "ax"),
            column(states, "mu"),
            column(states, "eta"),
            column(states, "step"),
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lambd=group["lambd"],
            lr=group["lr"],
            t0=group["t0"],
            alpha=group["alpha"],
            weight_decay=group["weight_decay"],
        )


def asgd(
    params,
    grads,
    axs,
    mus,
    etas,
    state_steps,
    foreach=None,
    maximize=False,
    differentiable=False,
    capturable=False,
    has_complex=False,
    *,
    lambd,
    lr,
    t0,
    alpha,
    weight_decay,
):
    """A step of ASGD on lists of parameters, gradients and states, in place."""
    capturable = capturable or is_compiling()
    if capturable:
        names = "params, mus, etas, and state_steps"
        xla = not foreach
        check_capturable(params, mus, etas, state_steps, names=names, supports_xla=xla)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    rule = partial(
        _update,
        lambd=lambd,
        lr=_to_scalar(lr),
        t0=t0,
        alpha=alpha,
        weight_decay=weight_decay,
        capturable=capturable,
    )
    run(
        rule,
        params,
        grads,
        [axs],
        [mus, etas, state_steps],
        maximize=maximize,
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


def _update(param, grad, ax, mu, eta, step, *, lambd, lr, t0, alpha, weight_decay, capturable):
    step = count(step, capturable)
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    size, weight = number(eta, capturable), number(mu, capturable)
    if capturable:
        param.mul_(acting_on(param, 1 - lambd * size))
        param.addcmul_(grad, acting_on(param, size), value=-1)
        nearer = ax + param.sub(ax).mul_(acting_on(param, weight))
        ax.copy_(_C.where(weight == 1, param, nearer))
        eta.copy_(lr / power(1 + lambd * lr * step, alpha))
        mu.copy_(1 / (step - t0).clamp_min(1))
        return
    param.mul_(1 - lambd * size).add_(grad, alpha=-size)
    if weight == 1:
        ax.copy_(param)
    else:
        ax.add_(param.sub(ax).mul_(weight))
    # By zero and an addition: there is no operator that fills the tensors of a list.
    eta.zero_().add_(lr / power(1 + lambd * lr * step, alpha))
    mu.zero_().add_(1 / max(1, step - t0))
