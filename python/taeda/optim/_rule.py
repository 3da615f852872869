"""A step as a rule for one parameter, run tensor by tensor or over lists.

A rule is a function `rule(param, grad, *states, *scalars)` that changes its arguments in place by
methods of tensors. `states` have the parameter's shape, or are None where they are not in use;
`scalars` are tensors of one number, such as the step count. The same rule runs on tensors, which
autograd may record, and on TensorLists.
"""

import math
from functools import partial

from taeda import _C
from taeda.autograd.grad_mode import enable_grad
from taeda.compiler import is_compiling
from taeda.optim._settings import _device_dtype_check_for_fused, _get_scalar_dtype
from taeda.optim._tensor_groups import TensorList, alike
from taeda.optim.optimizer import Optimizer, _use_grad_for_differentiable


def run(
    rule,
    params,
    grads,
    states,
    scalars,
    *,
    maximize,
    foreach=False,
    capturable=False,
    differentiable=False,
):
    """Runs a rule for all parameters; an empty list among `states` is one that is not in use.

    Over lists (`foreach`) the tensors of a list hold equal numbers in their scalars, so that these
    numbers are read once. A capturable step reads none, and runs tensor by tensor. A differentiable
    one does so, too, and refuses lists, as in PyTorch.
    """
    if foreach and differentiable and params:
        raise AssertionError("_foreach ops don't support autograd")
    if foreach and not capturable:
        _over_lists(rule, params, grads, states, scalars, maximize)
        return
    run_row = partial(_on_copies, rule, len(states)) if differentiable else rule
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        row = [param, grad, *(column[i] if column else None for column in states)]
        if param.is_complex():
            row = map(_real, row)
        run_row(*row, *(column[i] for column in scalars))


def _on_copies(rule, num_states, param, grad, *rest):
    """Runs a rule on copies of the states: what the graph keeps of them, no later step changes."""
    states, scalars = rest[:num_states], rest[num_states:]
    copies = [state if state is None else state.clone() for state in states]
    rule(param, grad, *copies, *scalars)
    for state, copy in zip(states, copies):
        if state is not copy:
            state.copy_(copy)


def _over_lists(rule, params, grads, states, scalars, maximize):
    columns = [params, grads, *states]
    if any(param.is_complex() for param in params):
        columns = [list(map(_real, column)) for column in columns]
    keys = zip(*([scalar.item() for scalar in column] for column in scalars))
    for indices in alike(params, keys if scalars else [()] * len(params)):
        param, grad, *state = (
            TensorList([column[i] for i in indices]) if column else None for column in columns
        )
        counts = [TensorList([column[i] for i in indices]) for column in scalars]
        rule(param, -grad if maximize else grad, *state, *counts)


def _real(tensor):
    """A complex tensor as pairs of real numbers."""
    if tensor is None or not tensor.is_complex():
        return tensor
    return _C.view_as_real(tensor.resolve_conj())


def count(step, capturable=False):
    """Adds one to a step count. The number, or the tensor where the step must not wait for it."""
    step.add_(1)
    return number(step, capturable)


def number(scalar, capturable=False):
    """The number in a scalar of a state, or the tensor where the step must not wait for it.

    A captured step computes with it in double precision, as Python does with the number: of
    `1 - beta2**step` float32 would leave four digits.
    """
    if not capturable:
        return scalar.item()
    return scalar.double() if is_compiling() else scalar


def power(base, exponent):
    """`base ** exponent`. Numbers have the power of kernels, as in fused and in compiled steps."""
    if isinstance(base, _C.Tensor) or isinstance(exponent, _C.Tensor):
        return base**exponent
    return _C.pow(base, _C.full((), exponent, dtype=_C.float64)).item()


def root(x):
    """The square root of a number, or of a tensor."""
    return x.sqrt() if isinstance(x, _C.Tensor) else math.sqrt(x)


def acting_on(x, number):
    """A number, or a tensor in its place, that acts on `x` and does not widen it.

    Of two tensors without dimensions the wider dtype counts, of others that with dimensions.
    """
    is_wide = isinstance(number, _C.Tensor) and isinstance(x, _C.Tensor) and x.dim() == 0
    return number.to(x.dtype) if is_wide else number


def add_multiple(param, x, factor):
    """Adds `factor * x`. A factor that is a tensor is not read, and keeps its graph."""
    if isinstance(factor, _C.Tensor) and isinstance(param, _C.Tensor):
        param.addcmul_(x, acting_on(x, factor))
    else:
        param.add_(x, alpha=factor)


def add_quotient(param, x, y, factor):
    """Adds `factor * x / y`, in the same way."""
    if isinstance(factor, _C.Tensor) and isinstance(param, _C.Tensor):
        param.addcdiv_(x * acting_on(x, factor), y)
    else:
        param.addcdiv_(x, y, value=factor)


def lerp_weight(weight, param):
    """A weight of lerp; a tensor has the parameter's dtype and device."""
    is_tensor = isinstance(weight, _C.Tensor)
    return weight.to(device=param.device, dtype=param.dtype) if is_tensor else weight


def decayed(grad, param, weight_decay):
    """The gradient with that of the penalty `weight_decay / 2 * param ** 2`."""
    if isinstance(weight_decay, _C.Tensor) and weight_decay.requires_grad:
        return grad.add(param.clone() * weight_decay)
    return grad.add(param, alpha=weight_decay)


def call_fused(operator, *args, **kwargs):
    """A fused step. One that unscales reads data; captures leave it alone as a whole, so that the
    options stay numbers that may change."""
    operator(*args, **kwargs)


call_fused._torchdynamo_disable = True


def refuse_scaling(grad_scale, found_inf):
    """Only a fused step divides gradients by the scale of a GradScaler itself."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


class RuleOptimizer(Optimizer):
    """An optimizer whose step is a rule. A subclass says what a new state holds, and runs the rule.

    `_later_options` are those that state dicts of old may lack, `_scalars` the entries of a state
    that old state dicts hold as plain numbers.
    """

    _later_options = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _scalars = ("step",)
    _sparse_message = "{} does not support sparse gradients"

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for option, default in self._later_options.items():
                group.setdefault(option, default)
            for param in group["params"]:
                saved = self.state.get(param, ())
                for name in self._scalars:
                    if name in saved and not isinstance(saved[name], _C.Tensor):
                        saved[name] = self._scalar(float(saved[name]), param, group)

    def _scalar(self, value, param, group):
        """A number of a state as a tensor, with the parameter if a kernel reads it."""
        is_fused = group.get("fused")
        is_read_there = is_fused or group.get("capturable")
        device = param.device if is_read_there else "cpu"
        return _C.full((), value, dtype=_get_scalar_dtype(is_fused), device=device)

    def _new_state(self, param, group):
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _step_group(self, group, params, grads, states):
        """Runs the rule for the parameters of a group that have gradients."""
        raise NotImplementedError

    def _gather(self, group):
        """The parameters of a group with gradients, these, and their states."""
        params = [param for param in group["params"] if param.grad is not None]
        grads = [param.grad for param in params]
        if any(grad.is_sparse for grad in grads):
            raise RuntimeError(self._sparse_message.format(type(self).__name__))
        states = [self.state[param] for param in params]
        for param, state in zip(params, states):
            if not state:
                if group.get("fused"):
                    _device_dtype_check_for_fused(param)
                state.update(self._new_state(param, group))
        return params, grads, states

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Changes the parameters by their gradients. `closure` computes the loss anew."""
        return self._plain_step(closure)

    def _plain_step(self, closure):
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params, grads, states = self._gather(group)
            if params:
                self._step_group(group, params, grads, states)
        return loss


def column(states, name):
    """An entry of all states."""
    return [state[name] for state in states]
