"""Muon: momentum whose matrices are made orthogonal before they become steps."""

import math
from functools import partial

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.linalg import vector_norm
from taeda.optim._rule import RuleOptimizer, column, run
from taeda.optim._settings import _to_scalar, check_lr, check_not_negative

__all__ = ["Muon"]

# Coefficients of the quintic whose iteration drives singular values to about one.
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
EPS = 1e-7
DEFAULT_NS_STEPS = 5


class Muon(RuleOptimizer):
    """Muon, for matrices; other parameters want another optimizer beside it."""

    _later_options = {}
    _scalars = ()

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(DEFAULT_A, DEFAULT_B, DEFAULT_C),
        eps=EPS,
        ns_steps=DEFAULT_NS_STEPS,
        adjust_lr_fn=None,
    ):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check_not_negative(momentum, "momentum should be >= 0 but is: {}")
        check_not_negative(weight_decay, "weight decay should be >= 0 but is: {}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _new_state(self, param, group):
        zeros = _C.zeros_like(param.grad, memory_format=_C.preserve_format)
        return {"momentum_buffer": zeros}

    def _gather(self, group):
        if any(param.grad is not None and param.is_complex() for param in group["params"]):
            raise RuntimeError("Muon does not support complex parameters")
        return super()._gather(group)

    @no_grad()
    def step(self, closure=None):
        """Changes the parameters by their gradients. `closure` computes the loss anew."""
        return self._plain_step(closure)

    def _step_group(self, group, params, grads, states):
        muon(
            params,
            grads,
            column(states, "momentum_buffer"),
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            ns_coefficients=group["ns_coefficients"],
            ns_steps=group["ns_steps"],
            eps=group["eps"],
            adjust_lr_fn=group["adjust_lr_fn"],
            has_complex=False,
        )


def muon(
    params,
    grads,
    muon_momentum_bufs,
    *,
    foreach=None,
    lr,
    weight_decay,
    momentum,
    nesterov,
    ns_coefficients,
    ns_steps,
    eps,
    adjust_lr_fn,
    has_complex,
):
    """A step of Muon on lists of parameters, gradients and momentum buffers, in place."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    rule = partial(
        _update,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        momentum=momentum,
        nesterov=nesterov,
        orthogonalize=partial(
            _zeropower_via_newtonschulz,
            ns_coefficients=ns_coefficients,
            ns_steps=ns_steps,
            eps=eps,
        ),
        adjust_lr_fn=adjust_lr_fn,
    )
    run(rule, params, grads, [muon_momentum_bufs], [], maximize=False)


def _update(
    param, grad, buffer, *, lr, weight_decay, momentum, nesterov, orthogonalize, adjust_lr_fn
):
    if grad.ndim != 2:
        raise ValueError("Param gradient must be a 2D matrix")
    buffer.lerp_(grad, 1 - momentum)
    update = orthogonalize(grad.lerp(buffer, momentum) if nesterov else buffer)
    param.mul_(1 - lr * weight_decay)
    param.add_(update, alpha=-_adjust_lr(lr, adjust_lr_fn, param.shape))


def _zeropower_via_newtonschulz(grad, ns_coefficients, ns_steps, eps):
    """A matrix with about the singular vectors of `grad` and singular values near one.

    An iteration of Newton and Schulz in bfloat16: X becomes aX + (bA + cA²)X with A = XXᵀ.
    """
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(grad.shape) != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = ns_coefficients
    is_tall = grad.size(0) > grad.size(1)
    x = grad.to(_C.bfloat16, copy=True)
    x = x.T if is_tall else x
    x.div_(vector_norm(x).clamp(min=eps))
    for _ in range(ns_steps):
        gram = x @ x.T
        x = _C.addmm(x, _C.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


def _adjust_lr(lr, adjust_lr_fn, param_shape):
    """The learning rate for a matrix of this shape."""
    rows, columns = param_shape[:2]
    if adjust_lr_fn == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))
