"""Autograd Functions in a region that is traced before autograd: calls of Python in its graph.

    %apply_function = apply_function(Double, %arg0)

Whatever runs the region applies the Function: the trace of its gradient runs the Function's
backward, the trace of its values the forward alone, and neither leaves a call of Python behind.
"""

import contextlib

from taeda import _C
from taeda._C import _fx
from taeda.fx.control_flow._lifting import Lifting
from taeda.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    _pop_mode_temporarily,
)
from taeda.utils._pytree import tree_leaves, tree_map

_Tensor = _C.Tensor


@contextlib.contextmanager
def functions_as_calls():
    """A scope in which Functions of a region's trace are nodes of its graph."""
    functions = _C._autograd._set_function_watcher(_apply)
    hooks = _C._autograd._set_hook_watcher(_refuse_hook)
    try:
        yield
    finally:
        _C._autograd._set_hook_watcher(hooks)
        _C._autograd._set_function_watcher(functions)


def apply_function(cls, args, kwargs):
    """The call of an autograd Function, as a node of a region's graph."""
    return cls.apply(*args, **kwargs)


def _apply(cls, *args, **kwargs):
    lifting = _get_current_dispatch_mode()
    if not isinstance(lifting, Lifting):  # a Function that another one applies
        return cls._apply_here(*args, **kwargs)
    args, kwargs = lifting.lift((args, kwargs))
    with _pop_mode_temporarily(), _pop_mode_temporarily() as tracer:
        with _OnArguments(cls, (args, kwargs)):
            results = cls._apply_here(*args, **kwargs)
        examples = tree_map(lambda x: tracer.example(x) if isinstance(x, _Tensor) else x, results)
    node = tracer.graph.call_function(apply_function, (cls, *tracer.arg_tree((args, kwargs))))
    node.meta["val"] = examples
    tracer.track(results, node)
    return results


def _refuse_hook(tensor, hook):
    if isinstance(_get_current_dispatch_mode(), Lifting):
        raise NotImplementedError(
            "a hook of a tensor inside of a function of control flow cannot be traced: its graph "
            "has values alone. Register it on an operand or on a result of the call."
        )


class _OnArguments(TorchDispatchMode):
    """Lets a Function read its arguments and what it makes of them, and no other traced tensor."""

    def __init__(self, cls, args):
        super().__init__()
        self.cls = cls
        self.known = self._tensors(args)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for tensor in self._tensors((args, kwargs)).values():
            if _fx.is_fake(tensor) and id(tensor) not in self.known:
                raise NotImplementedError(
                    f"{self.cls.__name__}, an autograd Function inside of a function of control "
                    "flow, reads a tensor that is none of its arguments; pass it as one"
                )
        results = func(*args, **kwargs)
        self.known.update(self._tensors(results))
        return results

    @staticmethod
    def _tensors(tree):
        return {id(leaf): leaf for leaf in tree_leaves(tree) if isinstance(leaf, _Tensor)}
