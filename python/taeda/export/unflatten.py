"""unflatten: an exported program as modules in the hierarchy of the module it was traced from.

    module = unflatten(export(model, (x,)))
    module.encoder.layers[0] = another          # parts can be replaced
    module(x)

A submodule takes the tensors that its nodes use and gives those that others use, unless its
signature was preserved (`export(..., preserve_module_call_signature=("encoder",))`).
"""

import taeda
from taeda.export._unflatten_scopes import build_root
from taeda.export._unlift import ArgumentOrder, Guards
from taeda.fx.interpreter import Interpreter
from taeda.utils import _pytree as pytree

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class InterpreterModule(taeda.nn.Module):
    """A module that runs a graph node by node; its tensors and submodules are attributes."""

    def __init__(self, graph, signature=None, ty=None):
        super().__init__()
        self.graph = graph
        self._ty = ty
        self.signature = signature  # a ModuleCallSignature, or None: tensors in and out

    def forward(self, *args, **kwargs):
        if self.signature is None:
            return self.run(args)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self.signature.in_spec:
            raise TypeError(
                f"Input treespec does not match with exported module's: \n{spec}\n"
                f"expected: \n{self.signature.in_spec}"
            )
        return pytree.tree_unflatten(self.run(leaves), self.signature.out_spec)

    def type_name(self):
        """The name of the class of the module that was exported; None where nobody noted it."""
        return self._ty

    def run(self, inputs):
        """The graph's results for its inputs."""
        return Interpreter(self, graph=self.graph).run(*inputs, enable_io_processing=False)

    def print_readable(self, print_output=True, include_stride=False, include_device=False):
        """The graph as Python code."""
        code = self.graph.python_code("self").src
        if print_output:
            print(code)
        return code


class FlatArgsAdapter:
    """Turns arguments of another structure into those of the program; for subclasses."""

    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        """The leaves for `target_spec`."""
        raise NotImplementedError


class UnflattenedModule(InterpreterModule):
    """The whole program; checks its inputs as `ExportedProgram.module()` does."""

    def __init__(self, export_module, flat_args_adapter=None):
        super().__init__(taeda.fx.Graph())
        self.flat_args_adapter = flat_args_adapter
        self.graph_signature = export_module.graph_signature
        self.module_call_graph = export_module.module_call_graph
        self._spec = export_module.call_spec
        self._order = ArgumentOrder(self._spec.in_spec)
        self._guards = (Guards(export_module.graph, export_module._encoded_signature()),)
        build_root(self, export_module, InterpreterModule)

    def forward(self, *args, **kwargs):
        leaves = self._leaves(args, kwargs)
        self._guards[0](*leaves)
        return pytree.tree_unflatten(self.run(leaves), self._spec.out_spec)

    def _leaves(self, args, kwargs):
        if self.flat_args_adapter is None:
            return self._order.leaves(args, kwargs)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec == self._spec.in_spec:
            return leaves
        return self.flat_args_adapter.adapt(self._spec.in_spec, spec, leaves)


def unflatten(module, flat_args_adapter=None):
    """The modules of an ExportedProgram, with copies of its tensors."""
    return UnflattenedModule(module, flat_args_adapter)
