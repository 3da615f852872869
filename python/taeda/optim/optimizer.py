"""Optimizer: parameters in groups, a state per parameter, a step."""

import functools
import warnings
from collections import defaultdict

from taeda import _C
from taeda._type_info import typename
from taeda.optim import _hooks, _state_dict
from taeda.optim._hooks import (
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from taeda.optim._settings import (
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _to_scalar,
)
from taeda.optim._tensor_groups import _group_tensors_by_device_and_dtype

__all__ = [
    "Optimizer",
    "_default_to_fused_or_foreach",
    "_device_dtype_check_for_fused",
    "_get_capturable_supported_devices",
    "_get_scalar_dtype",
    "_get_value",
    "_global_optimizer_post_hooks",
    "_global_optimizer_pre_hooks",
    "_to_scalar",
    "_use_grad_for_differentiable",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]


class _RequiredParameter:
    """Stands for an option without a default."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(step):
    """Runs a step under no_grad, unless the optimizer is differentiable."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(args[0].defaults["differentiable"])
        try:
            return step(*args, **kwargs)
        finally:
            _C._set_grad_enabled(before)

    return wrapper


class Optimizer(_hooks.Hooks):
    """Base of the optimizers: groups of parameters with options, and a state per parameter.

    `params` are tensors, pairs of a name and a tensor, or dicts, one per group; `defaults` are the
    options of groups that do not set them.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._init_hooks()
        self._patch_step_function()
        if isinstance(params, _C.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- pickling and printing ----
    def __getstate__(self):
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._init_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"

    # ---- stepping ----
    def step(self, closure=None):
        """Changes the parameters by their gradients. `closure` computes the loss anew."""
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func):
        """The function `step` of a class with the hooks around it."""
        return _hooks.hooked(func)

    def _patch_step_function(self):
        """Puts the hooks around the class's step, once."""
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def _optimizer_step_code(self):
        """Called after each step, for tools that look for it in a profile."""

    def _accelerator_graph_capture_health_check(self):
        """No device here records the launches of a step, so that nothing can go wrong."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check
    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or fills them with zeros."""
        grads = []
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    grads.append(_cut(param.grad))
        if not grads:
            return
        if self.defaults.get("foreach", False) or self.defaults.get("fused", False):
            _C._foreach_zero_(grads)
        else:
            for grad in grads:
                grad.zero_()

    # ---- state ----
    def state_dict(self):
        """Options and states, with a position in place of each parameter."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        result = _state_dict.packed(self.param_groups, self.state)
        return _hooks.replaced(self._optimizer_state_dict_post_hooks, self, result)

    def load_state_dict(self, state_dict):
        """Takes over the options and states of a `state_dict`, those of PyTorch's included."""
        state_dict = _hooks.replaced(
            self._optimizer_load_state_dict_pre_hooks, self, state_dict.copy()
        )
        groups, state = _state_dict.unpacked(self.param_groups, state_dict)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    _process_value_according_to_param_policy = staticmethod(_state_dict.fitted_tensor)

    # ---- groups ----
    def add_param_group(self, param_group):
        """Adds a dict with `params` and options; those left out have the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, _C.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + typename(param)
                )
            if not self.defaults.get("differentiable", None) and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_overlap(param_group)
        self.param_groups.append(param_group)

    def _check_overlap(self, param_group):
        params = set(param_group["params"])
        if len(params) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=4,
            )
        is_named = "param_names" in param_group
        for group in self.param_groups:
            if is_named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with' if is_named else 'without'} names to the optimizer"
                )
        if any(not params.isdisjoint(group["params"]) for group in self.param_groups):
            raise ValueError("some parameters appear in more than one parameter group")


def _list_params(param_group):
    """Makes `params` a list of tensors, and `param_names` their names where pairs are given."""
    params = param_group["params"]
    if isinstance(params, _C.Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    params = list(params)
    names = [param[0] for param in params if isinstance(param, tuple)]
    if names and len(names) != len(params):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    if names:
        param_group["param_names"] = names
        params = [param[1] for param in params]
    param_group["params"] = params


def _cut(grad):
    """A gradient without the graph that made it."""
    return grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
