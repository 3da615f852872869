"""Modules of exported programs (`ExportedProgram.module()`), compiled.

Their graphs take leaves of arguments, call a module that checks them, and give leaves of results.
"""

import copy

from taeda._inductor import CompiledModule
from taeda.export._unlift import ArgumentOrder
from taeda.fx.graph import CodeGen
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

GUARDS = "_guards_fn"


class CompiledExport(CompiledModule):
    """Called with the arguments of the exported module; it gives its results."""

    def __init__(self, module, inner):
        super().__init__(module, inner._plan)
        info = module.graph._codegen.pytree_info
        self._order = ArgumentOrder(info.in_spec)
        self._guards = getattr(module, GUARDS, None)
        self._inner = inner
        self._out_spec = info.out_spec

    @property
    def _graph(self):
        return self._inner._graph

    def __call__(self, *args, **kwargs):
        leaves = self._order.leaves(args, kwargs)
        if self._guards is not None:
            self._guards(*leaves)
        return pytree.tree_unflatten(list(self._inner(*leaves)), self._out_spec)


def leaves_only(module):
    """The graph module of leaves: without checks, and without the structure of arguments."""
    graph = copy.deepcopy(module.graph)
    graph.set_codegen(CodeGen())
    for node in graph.find_nodes(op="call_module", target=GUARDS):
        graph.erase_node(node)
    return GraphModule(module, graph)


def leaves_of(module, example_inputs):
    """The leaves of arguments, which may be given as they are."""
    spec = module.graph._codegen.pytree_info.in_spec
    inputs = tuple(example_inputs)
    if len(inputs) == spec.num_leaves and all(pytree.tree_is_leaf(leaf) for leaf in inputs):
        return list(inputs)
    return ArgumentOrder(spec).leaves(inputs, {})
