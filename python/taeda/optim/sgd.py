"""SGD: steps against the gradient, with momentum."""

from functools import partial

from taeda import _C
from taeda.optim._rule import RuleOptimizer, add_multiple, call_fused, decayed, refuse_scaling, run
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _to_scalar,
    check_fused,
    check_size_of_lr,
    is_captured,
)

__all__ = ["SGD", "sgd"]


class SGD(RuleOptimizer):
    """Gradient descent, with momentum, its Nesterov form and weight decay as options."""

    _later_options = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }
    _scalars = ()
    _needs_fused_check = True

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_size_of_lr(lr)
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(self, fused, foreach, differentiable)

    def _gather(self, group):
        """As of the base; only momentum needs a state, which the first step makes."""
        params = [param for param in group["params"] if param.grad is not None]
        if group["fused"] and self._needs_fused_check:
            for param in params:
                _device_dtype_check_for_fused(param)
            self._needs_fused_check = False
        states = [self.state[param] for param in params] if group["momentum"] != 0 else []
        return params, [param.grad for param in params], states

    def _step_group(self, group, params, grads, states):
        buffers = [state.get("momentum_buffer") for state in states]
        sgd(
            params,
            grads,
            buffers,
            foreach=group["foreach"],
            fused=group["fused"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            lr=group["lr"],
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
        for state, buffer in zip(states, buffers):
            state["momentum_buffer"] = buffer


def sgd(
    params,
    d_p_list,
    momentum_buffer_list,
    has_sparse_grad=False,
    foreach=None,
    fused=None,
    grad_scale=None,
    found_inf=None,
    *,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
):
    """A step of SGD on lists, in place. A momentum buffer that is None is made."""
    has_graph = _C.is_grad_enabled()
    if is_captured(grad_scale, found_inf):
        fused = foreach = False
    if foreach is None and fused is None:
        use_fused = not isinstance(lr, _C.Tensor) and not isinstance(weight_decay, _C.Tensor)
        fused, foreach = _default_to_fused_or_foreach(params, has_graph, use_fused=use_fused)
    if not fused:
        refuse_scaling(grad_scale, found_inf)
    settings = {
        "lr": lr if fused else _to_scalar(lr),
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
    }
    for indices, is_first in _by_presence(momentum_buffer_list, len(params), momentum):
        chosen = [params[i] for i in indices], [d_p_list[i] for i in indices]
        if is_first:
            for i in indices:
                momentum_buffer_list[i] = _C.zeros_like(params[i])
        buffers = [momentum_buffer_list[i] for i in indices] if momentum != 0 else []
        if fused:
            call_fused(
                _C._fused_sgd_,
                *chosen,
                buffers,
                **settings,
                maximize=maximize,
                is_first_step=is_first,
                grad_scale=grad_scale,
                found_inf=found_inf,
            )
        else:
            rule = partial(_update, is_first=is_first, **settings)
            run(
                rule,
                *chosen,
                [buffers],
                [],
                maximize=maximize,
                foreach=foreach and not has_graph,
                differentiable=has_graph,
            )


def _by_presence(buffers, count, momentum):
    """Indices of the parameters that have no momentum buffer yet, and of the others."""
    if momentum == 0:
        return [(range(count), False)]
    new = [i for i in range(count) if buffers[i] is None]
    old = [i for i in range(count) if buffers[i] is not None]
    return [(indices, is_first) for indices, is_first in ((new, True), (old, False)) if indices]


def _update(param, grad, buffer, *, lr, momentum, dampening, weight_decay, nesterov, is_first):
    if weight_decay != 0:
        grad = decayed(grad, param, weight_decay)
    if buffer is not None:
        if is_first:
            buffer.copy_(grad.detach() if isinstance(grad, _C.Tensor) else grad)
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    add_multiple(param, grad, -lr)
