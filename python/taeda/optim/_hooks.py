"""Hooks of optimizers: around steps, state_dict and load_state_dict; those for all optimizers."""

import functools
from collections import OrderedDict
from itertools import chain

from taeda.utils.hooks import RemovableHandle

# Hooks around the steps of every optimizer.
_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()

# The tables of an optimizer. A pickled optimizer comes back with empty ones.
TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _add(table, hook, prepend=False):
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _add(_global_optimizer_post_hooks, hook)


def hooked(step):
    """The function `step` of an optimizer's class with the hooks around it."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        self = args[0]
        if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
            args, kwargs = _before(self, step, args, kwargs)
        result = step(*args, **kwargs)
        self._optimizer_step_code()
        for hook in chain(
            self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()
        ):
            hook(self, args, kwargs)
        return result

    wrapper.hooked = True
    return wrapper


def _before(optimizer, step, args, kwargs):
    """The arguments of a step, after the hooks that may replace them."""
    for hook in chain(
        _global_optimizer_pre_hooks.values(), optimizer._optimizer_step_pre_hooks.values()
    ):
        result = hook(optimizer, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
            )
        args, kwargs = result
    return args, kwargs


class Hooks:
    """The tables of an optimizer and the functions that add to them."""

    def _init_hooks(self):
        for name in TABLES:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    def register_step_pre_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` before a step; it may return other arguments."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` after a step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` before `state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` on the result; it may return another one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` before loading; it may return another one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` after `load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def replaced(hooks, optimizer, state_dict):
    """The state dict after hooks that may return another one."""
    for hook in hooks.values():
        result = hook(optimizer, state_dict)
        if result is not None:
            state_dict = result
    return state_dict
