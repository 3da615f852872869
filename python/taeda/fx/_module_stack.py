"""Which modules are being called: `nn_module_stack` of traced nodes.

{"L__self__": ("", "__main__.Model"), "L__self__body.0": ("body.0", "taeda.nn.modules.Linear")}

Outermost first: a key for each call, the module's path and the name of its class. A module that is
called again gets a key with the number of the call, `L__self__body.0@1`.
"""

import contextlib
import operator
import threading

from taeda.nn import Module

_ROOT = "L__self__"


class ModuleStack:
    """The calls of a module and those inside it, as they are running."""

    def __init__(self, root):
        self._paths = {id(m): name for name, m in reversed(list(root.named_modules()))}
        self._counts = {}
        self._entries = {}
        self._thread = threading.get_ident()
        self.calls = []  # (path, key) of every call, in order

    def now(self):
        """The entry for a node that is made now."""
        return dict(self._entries)

    def top(self):
        """(key, path) of the innermost call; None outside of all."""
        if not self._entries:
            return None
        key = next(reversed(self._entries))
        return key, self._entries[key][0]

    @contextlib.contextmanager
    def watching(self, around_call=None):
        """A scope in which calls of modules are noted.

        around_call: (path, call, args, kwargs) -> result, for the calls that it wants to see.
        """
        call = Module.__call__

        def noted(module, *args, **kwargs):
            path = self._paths.get(id(module))
            if path is None or threading.get_ident() != self._thread:
                return call(module, *args, **kwargs)
            with self._entered(path, module):
                if around_call is None:
                    return call(module, *args, **kwargs)
                return around_call(path, lambda *a, **k: call(module, *a, **k), args, kwargs)

        Module.__call__ = noted
        try:
            yield self
        finally:
            Module.__call__ = call

    @contextlib.contextmanager
    def _entered(self, path, module):
        count = self._counts.get(path, 0)
        self._counts[path] = count + 1
        key = f"{_ROOT}{path}@{count}" if count else f"{_ROOT}{path}"
        cls = type(module)
        self._entries[key] = (path, f"{cls.__module__}.{cls.__qualname__}")
        self.calls.append((path, key))
        try:
            yield
        finally:
            del self._entries[key]


def fill_module_stacks(graph):
    """Gives nodes that came with others, parts of results and sizes, the stack of those."""
    following = None
    for node in reversed(list(graph.nodes)):
        if node.op in ("placeholder", "output"):
            continue
        stack = node.meta.get("nn_module_stack")
        if stack is None and following is not None and node.target is not operator.getitem:
            stack = node.meta["nn_module_stack"] = following
        following = following if stack is None else stack
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        source = node.args[0].meta
        for key in ("nn_module_stack", "stack_trace"):
            if key in source:
                node.meta[key] = source[key]
