"""An exported program as a module that holds its tensors and can be called."""

import types

import taeda
from taeda import _C
from taeda.export._names import argument_names
from taeda.export.graph_signature import InputKind, OutputKind
from taeda.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from taeda.fx.graph_module import GraphModule
from taeda.fx.traceback import NodeSource, NodeSourceAction
from taeda.utils import _pytree as pytree


class Guards(taeda.nn.Module):
    """Checks the inputs of a call."""

    def __init__(self, graph, encoded_signature):
        super().__init__()
        self._checks = _C._export.make_checks(graph, encoded_signature)

    def forward(self, *inputs):
        """Raises AssertionError for inputs that the program was not made for."""
        _C._export.check_inputs(self._checks, list(inputs))


def _refuse_mode(name):
    def refuse(self, *args):
        raise NotImplementedError(f"Calling {name}() is not supported yet.")

    return refuse


def unlift(program, check_guards=True):
    """The module: parameters are the program's own, writes to buffers and inputs take place."""
    root = taeda.nn.Module()
    _place_tensors(root, program)
    for name, child in program.graph_module.named_children():
        root.add_module(name, child)
    if check_guards:
        root._guards_fn = Guards(program.graph, program._encoded_signature())
    graph = _unlifted_graph(program, check_guards)
    spec = program.call_spec
    graph.set_codegen(
        _PyTreeCodeGen(
            _PyTreeInfo(
                argument_names(spec.in_spec, program._forward_names), spec.in_spec, spec.out_spec
            )
        )
    )
    module = GraphModule(root, graph, "GraphModule")
    _hide_constants(module, program.graph_signature)
    module.register_forward_pre_hook(ArgumentOrder(spec.in_spec), with_kwargs=True)
    module.train = types.MethodType(_refuse_mode("train"), module)
    module.eval = types.MethodType(_refuse_mode("eval"), module)
    return module


def _place_tensors(root, program):
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            continue
        prefix, _, name = spec.target.rpartition(".")
        owner = root
        for part in prefix.split(".") if prefix else ():
            if part not in owner._modules:
                owner.add_module(part, taeda.nn.Module())
            owner = owner._modules[part]
        place_tensor(owner, name, spec, program._tensor(spec.target))


def _hide_constants(module, signature):
    """Removes from the module's state the tensors that are no part of the program's."""
    for spec in signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR or spec.persistent is False:
            prefix, _, name = spec.target.rpartition(".")
            module.get_submodule(prefix)._non_persistent_buffers_set.add(name)


def place_tensor(owner, name, spec, tensor):
    """Registers a tensor as the parameter, buffer or constant that its spec names."""
    if spec.kind is InputKind.PARAMETER:
        owner.register_parameter(name, tensor)
    elif spec.kind is InputKind.BUFFER:
        owner.register_buffer(name, tensor, persistent=spec.persistent)
    else:
        # No part of the state: a constant of the program.
        owner.register_buffer(name, tensor, persistent=False)


def _unlifted_graph(program, check_guards):
    """The graph with attributes for the module's tensors and writes at its end."""
    graph, values, users = Graph(), {}, []
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        spec = specs[node.name]
        if spec.kind is InputKind.USER_INPUT:
            values[node] = graph.node_copy(node)
            users.append(values[node])
        else:
            values[node] = graph.create_node("get_attr", spec.target)
            values[node].meta.update(node.meta)
    if check_guards:
        graph.create_node("call_module", "_guards_fn", tuple(users))
    for node in program.graph.nodes:
        if node.op not in ("placeholder", "output"):
            values[node] = graph.node_copy(node, lambda n: values[n])
    for node, value in values.items():
        source = NodeSource(node, "ExportedProgram.module()", NodeSourceAction.CREATE)
        value.meta["from_node"] = [source]
    _finish(graph, program, values)
    return graph


def _finish(graph, program, values):
    state = {
        s.target: s.arg.name
        for s in program.graph_signature.input_specs
        if s.kind in (InputKind.BUFFER, InputKind.PARAMETER)
    }
    by_name = {node.name: value for node, value in values.items()}
    written = {}  # values by the tensors that hold them after the call
    (output,) = (n for n in program.graph.nodes if n.op == "output")
    returned = []
    for spec, arg in zip(program.graph_signature.output_specs, output.args[0], strict=True):
        value = values[arg] if isinstance(arg, taeda.fx.Node) else arg
        if spec.kind is OutputKind.USER_OUTPUT:
            returned.append(written.get(value, value) if isinstance(arg, taeda.fx.Node) else value)
        elif spec.kind is OutputKind.PARAMETER_MUTATION:
            _write_parameter(graph, by_name[state[spec.target]], value)
        else:
            is_state = spec.kind is OutputKind.BUFFER_MUTATION
            target = by_name[state[spec.target] if is_state else spec.target]
            written[value] = graph.call_function(taeda.ops.aten.copy_.default, (target, value))
    graph.output(tuple(returned))


def _write_parameter(graph, parameter, value):
    """A leaf that requires gradients is written as data."""
    aten = taeda.ops.aten
    data = [graph.call_function(aten.detach.default, (n,)) for n in (parameter, value)]
    graph.call_function(aten.copy_.default, tuple(data))


class ArgumentOrder:
    """Puts the keywords of a call into the order of the program, or raises with the difference.

    As a hook before `forward` it gives the arguments; `leaves` takes them apart.
    """

    def __init__(self, in_spec):
        self.in_spec = in_spec

    def __call__(self, module, args, kwargs):
        kwargs = self._in_order(kwargs)
        self._taken_apart(args, kwargs)
        return args, kwargs

    def leaves(self, args, kwargs):
        """The leaves of the arguments in the order of the program."""
        return self._taken_apart(args, self._in_order(kwargs))

    def _in_order(self, kwargs):
        expected = self.in_spec.child(1).context
        if set(kwargs) != set(expected):
            raise ValueError(
                "Ran into a kwarg keyword mismatch: Got the following keywords "
                f"{list(kwargs)} but expected {list(expected)}"
            )
        return {name: kwargs[name] for name in expected}

    def _taken_apart(self, args, kwargs):
        try:
            # Dicts may have their keys in another order.
            leaves = self.in_spec.flatten_up_to((args, kwargs))
        except ValueError:
            leaves = None
        if leaves is None or any(not pytree.tree_is_leaf(leaf) for leaf in leaves):
            given = pytree.tree_structure((args, kwargs))
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{self.in_spec}\nbut actually got inputs with tree spec of: \n{given}.\n"
                "Please check that the inputs have the same number and type of args and kwargs "
                "as the ones you used when tracing."
            )
        return leaves
