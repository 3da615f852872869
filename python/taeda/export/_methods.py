"""Methods of modules as modules of their own, so that each can be exported."""

import taeda

__all__ = ["sync_state", "wrap_method"]

_STATE = ("_parameters", "_buffers", "_non_persistent_buffers_set", "_modules")


class _Method(taeda.nn.Module):
    """Runs a method of another module, with that module's tensors and submodules."""

    def __init__(self, method):
        super().__init__()
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, taeda.nn.Module):
            raise TypeError(f"wrap_method takes a method of a module, got {method!r}")
        # The containers themselves: what the method writes, the owner has.
        for name in _STATE:
            vars(self)[name] = vars(owner)[name]
        self.forward = method


def wrap_method(method):
    """A module that `export` can trace in place of the method."""
    return _Method(method)


def sync_state(*modules):
    """Gives programs of methods of one module the same tensors: those of the first that has them.

    Programs that were exported from one module share them already; those from files do not.
    """
    shared = {}
    for module in modules:
        for prefix, child in module.named_modules():
            for field in (child._parameters, child._buffers):
                for name in field:
                    field[name] = shared.setdefault((prefix, name), field[name])
