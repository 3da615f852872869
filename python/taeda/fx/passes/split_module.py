"""split_module: cuts a graph into submodules by a function that numbers its nodes."""

import operator
from collections import OrderedDict

from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule, _assign_attr, _get_attr, _make_graph_module
from taeda.fx.node import map_arg
from taeda.nn import Module

__all__ = ["Partition", "split_module", "split_module_simple"]


class Partition:
    """The nodes of one submodule, and what goes in and comes out, by name."""

    def __init__(self, name):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names = []
        self.inputs = {}
        self.outputs = {}
        self.dependencies = {}
        self.dependents = {}
        self.graph = Graph()
        self.environment = {}
        self.targets = {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n "
            f"outputs: {list(self.outputs)},\n partitions depended on: "
            f"{list(self.dependencies)},\n partition dependents: {list(self.dependents)}"
        )


def split_module(
    m,
    root_m,
    split_callback,
    qualname_map=None,
    keep_original_order=False,
    keep_original_node_name=False,
    keep_original_input_name=True,
    *,
    partition_affix=None,
    tuple_return=False,
):
    """A module that calls a submodule `submod_<n>` for the nodes with `split_callback(node) == n`.

    Placeholders, attributes and the output stay outside. Submodules run in an order in which each
    finds its inputs; `keep_original_order` keeps that of their first nodes, which must be one.
    `qualname_map` is filled with the old path of every moved module and parameter. With
    `tuple_return` a submodule with one result returns a tuple too.
    """
    splitter = _Splitter(m, root_m, qualname_map)
    splitter.assign(split_callback, partition_affix)
    splitter.connect()
    order = splitter.sorted(keep_original_order)
    splitter.fill(order, keep_original_input_name, keep_original_node_name)
    return splitter.base(order, keep_original_node_name, tuple_return)


class _Splitter:
    def __init__(self, m, root_m, qualname_map):
        self.m, self.root_m = m, root_m
        self.qualname_map = qualname_map
        self.partitions = OrderedDict()
        self.of_node = {}

    def assign(self, split_callback, affix):
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            number = split_callback(node)
            name = str(number) if affix is None else f"{affix}_{number}"
            partition = self.partitions.get(name)
            if partition is None:
                partition = self.partitions[name] = Partition(name)
            partition.node_names.append(node.name)
            self.of_node[node] = partition

    def connect(self):
        """Finds inputs, outputs and dependencies."""
        for node in self.m.graph.nodes:
            mine = self.of_node.get(node)
            for used in node.all_input_nodes:
                theirs = self.of_node.get(used)
                if mine is theirs:
                    continue
                if theirs is not None:
                    theirs.outputs.setdefault(used.name)
                if mine is not None:
                    mine.inputs.setdefault(used.name)
                if mine is not None and theirs is not None:
                    mine.dependencies.setdefault(theirs.name)
                    theirs.dependents.setdefault(mine.name)

    def sorted(self, keep_original_order):
        """The partitions, each behind those it depends on."""
        waiting = {name: set(p.dependencies) for name, p in self.partitions.items()}
        if keep_original_order:
            done = set()
            for name in self.partitions:
                if not waiting[name] <= done:
                    raise RuntimeError("cycle exists between partitions!")
                done.add(name)
            return list(self.partitions.values())
        ready = [name for name, needs in waiting.items() if not needs]
        order = []
        while ready:
            name = ready.pop(0)
            order.append(self.partitions[name])
            for dependent in self.partitions[name].dependents:
                waiting[dependent].discard(name)
                if not waiting[dependent]:
                    ready.append(dependent)
        if len(order) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return order

    def fill(self, order, keep_original_input_name, keep_original_node_name):
        """Writes the graphs of the submodules."""
        nodes = {node.name: node for node in self.m.graph.nodes}
        for partition in order:
            for number, name in enumerate(partition.inputs):
                node = nodes[name]
                label = name if keep_original_input_name else f"arg_{number}"
                placeholder = partition.graph.placeholder(label, type_expr=node.type)
                placeholder.meta = dict(node.meta)
                partition.environment[node] = placeholder
        for node in self.m.graph.nodes:
            partition = self.of_node.get(node)
            if partition is None:
                continue
            target = node.target
            if node.op == "call_module":
                target = target.replace(".", "_")
                partition.targets[target] = _get_attr(self.root_m, node.target)
                if self.qualname_map is not None:
                    self.qualname_map[f"{partition.submod_name}.{target}"] = node.target
            environment = partition.environment
            copied = partition.graph.create_node(
                node.op,
                target,
                map_arg(node.args, environment.__getitem__),
                map_arg(node.kwargs, environment.__getitem__),
                node.name if keep_original_node_name else None,
                node.type,
            )
            copied.meta = dict(node.meta)
            environment[node] = copied

    def base(self, order, keep_original_node_name, tuple_return):
        """The module that calls the submodules."""
        graph, environment, attributes = Graph(), {}, {}
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                copied = graph.node_copy(node)
                environment[node.name] = copied
                if node.op == "get_attr":
                    attributes[node.target] = _get_attr(self.m, node.target)
        for partition in order:
            self._call(
                graph, partition, environment, attributes, keep_original_node_name, tuple_return
            )
        output = next((n for n in self.m.graph.nodes if n.op == "output"), None)
        if output is not None:
            value = map_arg(output.args[0], lambda n: environment[n.name])
            graph.output(value, output.type).meta = dict(output.meta)
        result = _make_graph_module(_holder_of(attributes), graph)
        result.training = self.m.training
        return result

    def _call(self, graph, partition, environment, attributes, keep_name, tuple_return):
        by_name = {node.name: new for node, new in partition.environment.items()}
        results = tuple(by_name[name] for name in partition.outputs)
        is_single = len(results) == 1 and not tuple_return
        if results:
            partition.graph.output(results[0] if is_single else results)
        else:
            partition.graph.output(())
        submodule = GraphModule(_holder_of(partition.targets), partition.graph)
        attributes[partition.submod_name] = submodule
        arguments = tuple(environment[name] for name in partition.inputs)
        call = graph.call_module(partition.submod_name, arguments)
        if is_single:
            environment[next(iter(partition.outputs))] = call
            return
        for index, name in enumerate(partition.outputs):
            label = name if keep_name else None
            environment[name] = graph.call_function(operator.getitem, (call, index), name=label)


def _holder_of(attributes):
    holder = Module()
    for path, value in attributes.items():
        _assign_attr(value, holder, path)
    return holder


def split_module_simple(m, node_to_partition, *, partition_affix=None):
    """split_module by a dict from nodes to numbers."""
    return split_module(m, None, node_to_partition.__getitem__, partition_affix=partition_affix)
