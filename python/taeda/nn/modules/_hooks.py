"""Hooks of modules: the tables that hold them, those for all modules, and their registration."""

from collections import OrderedDict

from taeda.utils.hooks import RemovableHandle

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of "
    "them."
)


# Hooks that run for every module. A call reads these tables, by their names, in C++.
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_is_full_backward_hook = None


def _add(table, hook, prepend=False, flags=()):
    """Adds the hook to the table and its number to each table of flags; returns its handle."""
    handle = RemovableHandle(table, extra_dict=list(flags))
    table[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """`hook(module, name, buffer)` runs when a buffer is registered, and may return another."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """`hook(module, name, child)` runs when a child is registered, and may return another."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """`hook(module, name, param)` runs when a parameter is registered, and may return another."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """`hook(module, args)` runs before every module's forward, and may return other arguments."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """`hook(module, args, output)` runs after every forward, and may return another output."""
    flags = _chosen(
        (with_kwargs, _global_forward_hooks_with_kwargs),
        (always_call, _global_forward_hooks_always_called),
    )
    return _add(_global_forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook):
    """The older form of register_module_full_backward_hook, which sees one node's gradients."""
    _set_global_backward_kind(False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """`hook(module, grad_output)` runs before every module's backward."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """`hook(module, grad_input, grad_output)` runs when a module's input gradients are known."""
    _set_global_backward_kind(True)
    return _add(_global_backward_hooks, hook)


def _set_global_backward_kind(is_full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not is_full):
        raise RuntimeError(_MIXED.format("as a global Module hook"))
    _global_is_full_backward_hook = is_full


def _chosen(*pairs):
    return [table for is_chosen, table in pairs if is_chosen]


class HookRegistration:
    """The part of Module that registers hooks and knows whether a call has any."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args)` runs before forward, and may return other arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which returns both or None.
        """
        flags = _chosen((with_kwargs, self._forward_pre_hooks_with_kwargs))
        return _add(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args, output)` runs after forward, and may return another output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`. With `always_call` it runs
        also when forward raises.
        """
        flags = _chosen(
            (with_kwargs, self._forward_hooks_with_kwargs),
            (always_call, self._forward_hooks_always_called),
        )
        return _add(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """`hook(module, grad_output)` runs before the module's backward, and may replace these."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The older form of register_full_backward_hook, which sees the last node's gradients."""
        self._set_backward_kind(False)
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        """`hook(module, grad_input, grad_output)` runs when the input gradients are known.

        It may return gradients to use in place of `grad_input`.
        """
        self._set_backward_kind(True)
        return _add(self._backward_hooks, hook, prepend)

    def _set_backward_kind(self, is_full):
        if self._is_full_backward_hook is (not is_full):
            raise RuntimeError(_MIXED.format("on a single Module"))
        self._is_full_backward_hook = is_full

    def _get_backward_hooks(self):
        """(full hooks, older hooks) of the module and of all modules."""
        full, older = [], []
        if _global_backward_hooks:
            kind = full if _global_is_full_backward_hook else older
            kind.extend(_global_backward_hooks.values())
        if self._backward_hooks:
            kind = full if self._is_full_backward_hook else older
            kind.extend(self._backward_hooks.values())
        return full, older

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _has_hooks(self):
        """Whether a call has to run any hook."""
        return (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        )
