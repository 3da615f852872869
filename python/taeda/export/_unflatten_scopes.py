"""Splits the graph of a program along `nn_module_stack`: a graph for every call of a module."""

import itertools
import operator

import taeda
from taeda.export._unlift import place_tensor
from taeda.export.graph_signature import ConstantArgument, InputKind, OutputKind
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

_PLAIN = (tuple, list, dict)


def build_root(root, program, make_module):
    """Fills `root` with the program's graph, the modules that it calls and their tensors.

    make_module: (graph, signature, name of the class) -> the module of a submodule's graph.
    """
    split = _Split(program, make_module)
    scope = split.scope(root, "", 0)
    inputs = {s.arg.name: s for s in program.graph_signature.input_specs}
    users = [n for n in split.placeholders if inputs[n.name].kind is InputKind.USER_INPUT]
    scope.add_inputs(users)
    scope.add_nodes([n for n in program.graph.nodes if n.op not in ("placeholder", "output")])
    _finish(scope, program)
    split.place_tensors(root)


def _finish(scope, program):
    """Writes new values to their places and returns the results."""
    by_target = {
        **{n.name: n for n in scope.split.placeholders},
        **{spec.target: node for node, spec in scope.split.state.items()},
    }
    returned = []
    (output,) = program.graph.find_nodes(op="output")
    for spec, arg in zip(program.graph_signature.output_specs, output.args[0], strict=True):
        value = scope.value(arg) if isinstance(arg, taeda.fx.Node) else arg
        if spec.kind is OutputKind.USER_OUTPUT:
            returned.append(value)
        else:
            place = scope.value(by_target[spec.target])
            scope.graph.call_function(taeda.ops.aten.copy_.default, (place, value))
    scope.graph.output(tuple(returned))


class _Split:
    """The program that is split, and the contents of its scopes."""

    def __init__(self, program, make_module):
        self.program, self.make_module = program, make_module
        specs = {s.arg.name: s for s in program.graph_signature.input_specs}
        self.placeholders = program.graph.find_nodes(op="placeholder")
        self.state = {
            n: specs[n.name]
            for n in self.placeholders
            if specs[n.name].kind is not InputKind.USER_INPUT
        }
        self.signatures = {e.fqn: e.signature for e in program.module_call_graph if e.fqn}
        self.names = {}  # of the same tensor in the module
        for spec in self.state.values():
            self.names.setdefault(id(program._tensor(spec.target)), []).append(spec)
        self.held = []  # (module, name in it, spec)
        self.written = _written_inputs(program.graph, set(self.placeholders))

    def spec_in(self, node, path):
        """The spec of a tensor that the module at a path holds, under any of its names."""
        spec = self.state.get(node)
        if spec is None or not path:
            return spec
        names = self.names[id(self.program._tensor(spec.target))]
        return next((s for s in (spec, *names) if s.target.startswith(f"{path}.")), None)

    def scope(self, module, path, depth):
        return _Scope(self, module, path, depth)

    def place_tensors(self, root):
        """Gives every module the tensors that its graph names, and the root all of them."""
        wanted = [(root, spec.target, spec) for spec in self.state.values()]
        copies = {}
        for module, name, spec in (*wanted, *self.held):
            *path, field = name.split(".")
            for part in path:
                if part not in module._modules:
                    module.add_module(part, taeda.nn.Module())
                module = module._modules[part]
            tensor = self.program._tensor(spec.target)
            if id(tensor) not in copies:
                copies[id(tensor)] = tensor, _copied(tensor)  # the tensor keeps its id
            place_tensor(module, field, spec, copies[id(tensor)][1])


def _copied(tensor):
    """A tensor of its own, of the same class."""
    copy = tensor.detach().clone()
    if isinstance(tensor, taeda.nn.Parameter):
        return taeda.nn.Parameter(copy, tensor.requires_grad)
    return copy


class _Scope:
    """The graph of one call of a module."""

    def __init__(self, split, module, path, depth):
        self.split, self.module, self.path, self.depth = split, module, path, depth
        self.graph = module.graph
        self.values = {}  # of the program's nodes

    def add_inputs(self, nodes):
        for node in nodes:
            self.values[node] = self.graph.create_node("placeholder", node.name, name=node.name)
            self.values[node].meta.update(node.meta)

    def owns(self, node):
        """Whether a node is a tensor that the module holds."""
        return self.split.spec_in(node, self.path) is not None

    def value(self, node):
        """The value that stands for a node of the program here."""
        node = self._reached(node)
        if node not in self.values:
            spec = self.split.spec_in(node, self.path)
            name = spec.target[len(self.path) + 1 :] if self.path else spec.target
            self.split.held.append((self.module, name, spec))
            self.values[node] = self._read(name)
            self.values[node].meta.update(node.meta)
        return self.values[node]

    def _read(self, name):
        """A node that reads a tensor, behind those that read others and before all calls."""
        calls = (n for n in self.graph.nodes if n.op not in ("placeholder", "get_attr"))
        first = next(calls, None)
        if first is None:
            return self.graph.create_node("get_attr", name)
        with self.graph.inserting_before(first):
            return self.graph.create_node("get_attr", name)

    def _reached(self, node):
        """The node, or the input that it is: what another call wrote is read from its place."""
        return node if node in self.values else self.split.written.get(node, node)

    def add_nodes(self, nodes):
        for key, group in itertools.groupby(nodes, self._call_of):
            if key is not None:
                self._add_call(*key, list(group))
                continue
            for node in group:
                self._copy(node)

    def _copy(self, node):
        self.values[node] = self.graph.node_copy(node, self.value)
        held = getattr(self.split.program.graph_module, str(node.target), None)
        if node.op == "get_attr" and isinstance(held, GraphModule):
            setattr(self.module, node.target, held)

    def _call_of(self, node):
        """(key, path) of the call inside this one that a node belongs to; None: its own."""
        stack = list(node.meta.get("nn_module_stack", {}).items())
        if len(stack) <= self.depth + 1:
            return None
        key, (path, _) = stack[self.depth + 1]
        return key, path

    # ---- calls ----
    def _add_call(self, key, path, nodes):
        inside = set(nodes)
        written = self.split.written
        used = dict.fromkeys(
            written.get(n, n) for node in nodes for n in node.all_input_nodes if n not in inside
        )
        outputs = [
            n for n in nodes if n not in written and any(user not in inside for user in n.users)
        ]
        signature = self.split.signatures.get(path)
        cls = list(nodes[0].meta["nn_module_stack"].values())[self.depth + 1][1]
        child = self.split.make_module(Graph(), signature, cls)
        scope = self.split.scope(child, path, self.depth + 1)
        inputs = [n for n in used if not scope.owns(n)]
        by_name = {n.name: n for n in self.split.program.graph.nodes}
        if signature is not None and _fits(signature, inputs, outputs):
            given = [None if _is_fixed(a) else by_name[a.name] for a in signature.inputs]
            results = [a.value if _is_fixed(a) else by_name[a.name] for a in signature.outputs]
        else:
            child.signature = signature = None
            given, results = inputs, outputs
        for i, node in enumerate(given):
            if node is None:
                scope.graph.create_node("placeholder", f"fixed_{i}")
            else:
                scope.add_inputs([node])
        scope.add_nodes(nodes)
        returned = [scope.value(r) if isinstance(r, taeda.fx.Node) else r for r in results]
        is_single = signature is None and len(returned) == 1
        scope.graph.output(returned[0] if is_single else tuple(returned))
        call = self._call(self._attach(key, path, child), signature, given)
        self._take_results(call, signature, results, is_single)

    def _attach(self, key, path, child):
        """Puts a module at its path, unless it is there, and gives its name."""
        name = path[len(self.path) + 1 :] if self.path else path
        suffix = key.partition("@")[2]
        *outer, field = name.split(".")
        holder = self.module
        for part in outer:
            if part not in holder._modules:
                holder.add_module(part, taeda.nn.Module())
            holder = holder._modules[part]
        others = [n for n in holder._modules if n == field or n.startswith(f"{field}@")]
        for other in others:
            if _same_graph(holder._modules[other], child):
                return ".".join((*outer, other))
        if others:
            field = f"{field}@{suffix or 'again'}"
        holder.add_module(field, child)
        return ".".join((*outer, field))

    def _call(self, target, signature, given):
        if signature is None:
            return self.graph.create_node("call_module", target, tuple(map(self.value, given)))
        leaves = [
            a.value if node is None else self.value(node)
            for a, node in zip(signature.inputs, given, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(leaves, signature.in_spec)
        return self.graph.create_node("call_module", target, args, kwargs)

    def _take_results(self, call, signature, results, is_single):
        if is_single:
            self.values[results[0]] = call
            call.meta["val"] = results[0].meta.get("val")
            return
        if signature is not None:
            call = self.graph.call_function(pytree.tree_leaves, (call,))
        for i, node in enumerate(results):
            # An input that is given back is known already.
            if isinstance(node, taeda.fx.Node):
                self.values[node] = self.graph.call_function(operator.getitem, (call, i))
                self.values[node].meta.update(node.meta)


def _written_inputs(graph, inputs):
    """{node: input} of the calls whose result is an input that they write to."""
    found = {}
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not node.args or len(schema.returns) != 1:
            continue
        first, result = schema.arguments[0].alias_info, schema.returns[0].alias_info
        if first is None or not first.is_write or result is None or not result.is_write:
            continue
        written = found.get(node.args[0], node.args[0])
        if written in inputs:
            found[node] = written
    return found


def _is_fixed(argument):
    return isinstance(argument, ConstantArgument)


def _fits(signature, inputs, outputs):
    """Whether a call by the signature has all that goes in and comes out, in plain containers."""
    given = {a.name for a in signature.inputs if not _is_fixed(a)}
    returned = {a.name for a in signature.outputs if not _is_fixed(a)}
    return (
        {n.name for n in inputs} <= given
        and {n.name for n in outputs} <= returned
        and _is_plain(signature.in_spec)
    )


def _is_plain(spec):
    if spec.is_leaf():
        return True
    return spec.type in _PLAIN and all(_is_plain(child) for child in spec.children_specs)


def _same_graph(one, other):
    """Whether two modules compute the same with the same tensors."""
    graphs = getattr(one, "graph", None), other.graph
    if graphs[0] is None:
        return False
    nodes = [list(g.nodes) for g in graphs]
    if len(nodes[0]) != len(nodes[1]):
        return False
    twin = {}
    for a, b in zip(*nodes, strict=True):
        if a.op != b.op or (a.op != "placeholder" and a.target != b.target):
            return False
        mapped = taeda.fx.node.map_arg((a.args, a.kwargs), lambda n: twin[n])
        if mapped != (b.args, b.kwargs):
            return False
        if a.op == "call_module" and not _same_graph(
            one.get_submodule(a.target), other.get_submodule(b.target)
        ):
            return False
        twin[a] = b
    return True
