"""wrap: functions that are one step of every trace."""

import sys

# (id of a module's globals, name) -> the globals: what `wrap` marked.
_wrapped_fns_to_patch = {}
_wrapped_methods_to_patch = []


def forget_wrapped(namespace):
    """Drops what was marked in the globals with this id."""
    for key in list(_wrapped_fns_to_patch):
        if key[0] == namespace:
            _wrapped_fns_to_patch.pop(key, None)


def wrap(fn_or_name):
    """Makes calls of a function one step of a trace; its inside is not looked at.

    To be called at the top level of a module, with the name of a function that the module uses
    (also of a builtin, as "len"), or as a decorator of a function there.
    """
    if callable(fn_or_name):
        name = fn_or_name.__name__
    elif isinstance(fn_or_name, str):
        name = fn_or_name
    else:
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name
