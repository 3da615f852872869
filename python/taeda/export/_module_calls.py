"""The calls of submodules in a traced program: which there are, and how they were called."""

import dataclasses

import taeda
from taeda.export.graph_signature import (
    ConstantArgument,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from taeda.utils import _pytree as pytree


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module was called."""

    inputs: list
    outputs: list
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the program, by its path."""

    fqn: str
    signature: ModuleCallSignature | None = None


def tracepoint(*values):
    """Marks in the graph, while it is made, a value that goes into a module or comes out of it."""


class ModuleCalls:
    """Notes the first call of each of some submodules; give `noted` to ModuleStack.watching."""

    def __init__(self, tracer, preserved):
        self.tracer = tracer
        self.preserved = set(preserved)
        self._points = {}  # path -> (node of inputs, in_spec, node of results, out_spec)

    def noted(self, path, call, args, kwargs):
        if path not in self.preserved or path in self._points:
            return call(*args, **kwargs)
        self._points[path] = None
        before = self._point((args, kwargs))
        result = call(*args, **kwargs)
        self._points[path] = (*before, *self._point(result))
        return result

    def _point(self, tree):
        leaves, spec = pytree.tree_flatten(tree)
        values = tuple(self.tracer.arg_tree(leaves))
        return self.tracer.graph.create_node("call_function", tracepoint, values), spec

    def collect(self, graph, modules):
        """An entry for each submodule that was called; the marks in the graph go."""
        found = {path: None for path, _ in modules.calls if path}
        missing = self.preserved - set(self._points)
        if missing:
            raise taeda.export._errors.UserError(
                f"preserve_module_call_signature names {sorted(missing)}, which export does not "
                "see called"
            )
        for path, (before, in_spec, after, out_spec) in self._points.items():
            inputs, outputs = ([argument_of(a) for a in n.args] for n in (before, after))
            found[path] = ModuleCallSignature(inputs, outputs, in_spec, out_spec)
            graph.erase_node(after)
            graph.erase_node(before)
        return [ModuleCallEntry(path, signature) for path, signature in found.items()]


_OF_VALUES = {
    taeda.SymInt: SymIntArgument,
    taeda.SymFloat: SymFloatArgument,
    taeda.SymBool: SymBoolArgument,
}


def argument_of(arg):
    """The form that a value of the graph has in signatures."""
    if not isinstance(arg, taeda.fx.Node):
        return ConstantArgument("", arg)
    return _OF_VALUES.get(type(arg.meta.get("val")), TensorArgument)(arg.name)
