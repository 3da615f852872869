"""Which modules are running, in forward and in backward.

    with ModuleTracker() as tracker:
        model(x)            # inside, tracker.parents is {"Global", "Model", "Model.layer1"}, ...

A module counts as running in backward from when the gradients of its outputs are known until those
of its inputs are.
"""

import weakref

from taeda import _C
from taeda.autograd.graph import register_multi_grad_hook
from taeda.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from taeda.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]


def _differentiable(values):
    leaves = tree_leaves(values)
    return [v for v in leaves if isinstance(v, _C.Tensor) and v.requires_grad]


class ModuleTracker:
    """`parents` holds the names of the running modules, and always "Global"."""

    def __init__(self):
        self.parents = {"Global"}
        self._names = weakref.WeakKeyDictionary()
        self._is_reset_queued = False
        self._handles = []

    @property
    def is_bw(self):
        """Whether a backward is running."""
        return _C._current_graph_task_id() != -1

    def __enter__(self):
        self._handles = [
            register_module_forward_pre_hook(self._before_forward),
            register_module_forward_hook(self._after_forward),
        ]
        return self

    def __exit__(self, *_):
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name_of(self, module):
        """The class of the outermost module, then the attributes that lead to this one."""
        if module not in self._names:
            self._names[module] = type(module).__name__
            self._name_children(module)
        return self._names[module]

    def _name_children(self, module):
        for name, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{self._names[module]}.{name}"
                self._name_children(child)

    def _before_forward(self, module, args):
        name = self._name_of(module)
        self.parents.add(name)
        self._on_gradients_of(args, lambda _: self.parents.discard(name))

    def _after_forward(self, module, args, output):
        name = self._name_of(module)
        self.parents.discard(name)
        self._on_gradients_of(output, lambda _: self._enter_backward(name))

    def _on_gradients_of(self, values, hook):
        tensors = _differentiable(values)
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def _enter_backward(self, name):
        # A module whose inputs need no gradient is never left: the end of the run does it.
        if not self._is_reset_queued:
            self._is_reset_queued = True
            _C._queue_callback(self._end_backward)
        self.parents.add(name)

    def _end_backward(self):
        self.parents = {"Global"}
        self._is_reset_queued = False
