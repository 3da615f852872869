"""split_by_tags: cuts a graph into submodules by the tags on its nodes."""

import copy
import operator
from dataclasses import dataclass, field

from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.fx.node import map_arg
from taeda.fx.passes.tools_common import CALLABLE_NODE_OPS
from taeda.fx.passes.utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj, name):
    """The attribute at a dotted path; None where the path ends early."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj, attr, value):
    """Sets the attribute at a dotted path."""
    path, _, name = attr.rpartition(".")
    for part in path.split(".") if path else ():
        obj = getattr(obj, part)
    setattr(obj, name, value)


@dataclass
class Component:
    """A submodule in the making: its graph, and the nodes of the whole graph that it meets."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list = field(default_factory=list)  # of `graph`
    orig_inputs: list = field(default_factory=list)  # what they stand for
    orig_outputs: list = field(default_factory=list)
    getattr_maps: dict = field(default_factory=dict)  # get_attr nodes: the original -> the copy
    constructor_args: list = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=GraphModule
):
    """A module that calls a submodule for each tag, with the nodes that have it (`node.tag`).

    Submodules run in the order of `tags`. Every call needs a tag; placeholders and the output stay
    outside, attributes go where they are used. With `return_fqn_mapping` the result is a pair: the
    module, and where modules and parameters stand now, by their old paths. With `return_tuple` a
    submodule with one result returns a tuple too.
    """
    split = _TagSplit(gm, tags)
    for node in gm.graph.nodes:
        split.place(node)
    split.find_outputs()
    result, paths = split.build(return_tuple, GraphModuleCls)
    return (result, paths) if return_fqn_mapping else result


class _TagSplit:
    def __init__(self, gm, tags):
        self.gm = gm
        self.components = {tag: Component(Graph(), i, str(tag)) for i, tag in enumerate(tags)}
        self.home = {}  # node -> component
        self.copies = {}  # node -> its copy in the component
        self.main = Graph()
        self.values = {}  # node -> its value in the main graph
        self.output = None

    def place(self, node):
        """Copies a node into the main graph or its component."""
        if node.op == "placeholder":
            copied = self.main.placeholder(node.name, type_expr=node.type)
            copied.meta = copy.copy(node.meta)
            self.values[node] = copied
        elif node.op == "output":
            if self.output is not None:
                raise RuntimeError("Multiple output nodes in graph!")
            self.output = node
        elif node.op in CALLABLE_NODE_OPS:
            self._copy_call(node)

    def _copy_call(self, node):
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        component = self.home[node] = self.components[node.tag]
        latest = max(
            (self.home[n].order for n in node.all_input_nodes if n in self.home), default=0
        )
        if component.order < latest:
            raise AssertionError(
                f"Component {component.name} order must be >= max of its upstream components, "
                f"order={component.order} and max={latest}"
            )
        copied = component.graph.node_copy(node, lambda n: self._value_in(component, n))
        copied.tag = node.tag
        self.copies[node] = copied

    def _value_in(self, component, node):
        if node.op == "get_attr":
            if node not in component.getattr_maps:
                copied = component.graph.get_attr(node.target, type_expr=node.type)
                copied.meta = copy.copy(node.meta)
                component.getattr_maps[node] = copied
            return component.getattr_maps[node]
        if self.home.get(node) is component:
            return self.copies[node]
        if node not in component.orig_inputs:
            placeholder = component.graph.placeholder(node.name, type_expr=node.type)
            placeholder.meta = copy.copy(node.meta)
            component.orig_inputs.append(node)
            component.input_placeholders.append(placeholder)
        return component.input_placeholders[component.orig_inputs.index(node)]

    def find_outputs(self):
        """What a component gives away: inputs of other components, and results of the whole."""
        if self.output is None:
            raise RuntimeError("Graph had no output node!")
        read = dict.fromkeys(n for c in self.components.values() for n in c.orig_inputs)
        read.update(dict.fromkeys(self.output.all_input_nodes))
        for node in read:
            if node in self.home:
                self.home[node].orig_outputs.append(node)
            elif node.op == "get_attr":
                self.values[node] = self.main.get_attr(node.target, type_expr=node.type)

    def build(self, return_tuple, module_class):
        paths, modules = {}, {}
        for component in self.components.values():
            results = tuple(self.copies[n] for n in component.orig_outputs)
            is_single = len(results) == 1 and not return_tuple
            component.graph.output(results[0] if is_single else results)
            component.gm, names = lift_subgraph_as_module(
                self.gm, component.graph, comp_name=component.name
            )
            paths.update({old: new for new, old in names.items()})
            modules[component.name] = component.gm
            call = self.main.call_module(
                component.name, tuple(self.values[n] for n in component.orig_inputs)
            )
            for index, node in enumerate(component.orig_outputs):
                self.values[node] = (
                    call if is_single else self.main.call_function(operator.getitem, (call, index))
                )
        self.main.output(map_arg(self.output.args[0], self.values.__getitem__))
        root = HolderModule(modules)
        for node in self.main.find_nodes(op="get_attr"):
            setattr_recursive(root, node.target, getattr_recursive(self.gm, node.target))
        return module_class(root, self.main), paths
