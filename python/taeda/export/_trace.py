"""Traces a module to a functional graph of its parameters, buffers, constants and inputs."""

import contextlib
import dataclasses

import taeda
from taeda import _C
from taeda._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from taeda.export._dynamic_inputs import DynamicInputs, leaf_shapes
from taeda.export._errors import UserError
from taeda.export._functional_graph import remove_writes
from taeda.export._module_state import held_tensors, standing_in
from taeda.export._names import UniqueNames, bound_arguments, identifier, leaf_names
from taeda.export._user_lines import note_stack, user_line
from taeda.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from taeda.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from taeda.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from taeda.fx.graph import Graph
from taeda.utils import _pytree as pytree

_PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}
_CONSTANTS = (int, float, bool, str, type(None), complex, taeda.dtype, taeda.device)


@dataclasses.dataclass
class Traced:
    """The graph of a module and what belongs to it."""

    graph: Graph
    root: taeda.nn.Module  # what control flow calls
    signature: ExportGraphSignature
    state: dict  # parameters, buffers and constants by name
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    range_constraints: dict


_RESULT = (OutputKind.USER_OUTPUT, None)


class _Tracing:
    """One trace: the graph, the names of its inputs, and the tensors behind them."""

    def __init__(self, mod, dynamic):
        self.mod, self.dynamic = mod, dynamic
        self.graph = Graph()
        self.tracer = ProxyTorchDispatchMode(self.graph, "fake")
        self.tracer.set_node_callback(note_stack)
        self.fake_mode = FakeTensorMode(
            allow_non_fake_inputs=True, shape_env=dynamic.env, static_shapes=True, export=True
        )
        self.held = held_tensors(mod)
        self.names = UniqueNames()
        self.fakes = {}
        self.inputs = []

    def run(self, args, kwargs):
        flat, in_spec = pytree.tree_flatten((args, kwargs))
        held = [self._held_input(h) for h in self.held]
        given = leaf_names(bound_arguments(self.mod, args, kwargs))
        users = [
            self._user_input(name, value, shape)
            for name, value, shape in zip(given, flat, self.dynamic.shapes, strict=True)
        ]
        with contextlib.ExitStack() as modes:
            modes.enter_context(self.fake_mode)
            modes.enter_context(self.tracer)
            outputs, out_spec = self._call(held, users, in_spec)
        kinds = [kind for kind, _ in outputs]
        output = self.graph.create_node("output", "output", (tuple(arg for _, arg in outputs),))
        constants = self._lift_constants(len(held))
        remove_writes(self.graph, self.tracer.root)
        signature = ExportGraphSignature(self.inputs, output_specs(kinds, output.args[0]))
        state = {h.name: h.tensor for h in self.held} | constants
        ranges, signature.conditions = self.dynamic.finish()
        return Traced(self.graph, self.tracer.root, signature, state, in_spec, out_spec, ranges)

    # ---- inputs ----
    def _placeholder(self, candidate, value):
        name = self.names.make(candidate)
        node = self.graph.create_node("placeholder", name, name=name)
        if isinstance(value, taeda.Tensor):
            node.meta["val"] = value.detach()
            self.tracer.track(value, node)
        return node

    def _held_input(self, held):
        # Nothing inside the module differentiates with respect to what it holds. A tensor that it
        # holds twice stays one.
        fake = self.fakes.get(id(held.tensor))
        if fake is None:
            fake = self.fakes[id(held.tensor)] = self.fake_mode.from_tensor(held.tensor).detach()
        node = self._placeholder(_PREFIXES[held.kind] + identifier(held.name), fake)
        spec = InputSpec(held.kind, TensorArgument(node.name), held.name, held.persistent)
        self.inputs.append(spec)
        return fake

    def _user_input(self, name, value, shape):
        if isinstance(value, taeda.Tensor):
            value = self.dynamic.fake(self.fake_mode, value, name, shape)
            arg = TensorArgument(self._placeholder(name, value).name)
        elif isinstance(value, taeda.SymInt):
            node = self._placeholder(name, value)
            self.tracer.track(value, node)
            node.meta["val"] = value
            arg = SymIntArgument(node.name)
        elif isinstance(value, _CONSTANTS):
            arg = ConstantArgument(self._placeholder(name, value).name, value)
        else:
            raise UserError(
                f"Unsupported input type {type(value)}. Export only supports pytree containers of "
                "basic types (Tensor, int, float, ...) as input. To register a custom dataclass, "
                "use torch.export.register_dataclass. To register a custom container type, use "
                "torch.utils._pytree.register_pytree_node."
            )
        self.inputs.append(InputSpec(InputKind.USER_INPUT, arg, None))
        return value

    # ---- the call ----
    def _call(self, held, users, in_spec):
        """[((kind, target), graph argument)] of all outputs, and the result's spec."""
        level = _C._enter_functionalize(False)
        try:
            own = {}

            def functional(value):
                if not isinstance(value, taeda.Tensor):
                    return value
                if id(value) not in own:
                    own[id(value)] = _C._make_functional(value, level)
                return own[id(value)]

            wrapped = [functional(t) for t in held]
            inputs = [functional(v) for v in users]
            args, kwargs = pytree.tree_unflatten(inputs, in_spec)
            with standing_in(self.mod, self.held, wrapped) as current:
                result = _called(self.mod, args, kwargs)
                leaves, out_spec = pytree.tree_flatten(result)
                outputs = self._writes_to_state(current(), wrapped, level)
            outputs += self._writes_to_inputs(inputs, level)
            outputs += [self._result(leaf, level) for leaf in leaves]
        finally:
            _C._exit_functionalize(level)
        return outputs, out_spec

    def _argument(self, tensor, level):
        return self.tracer.arg_of(_C._functional_value(tensor, level)[0])

    def _writes_to_state(self, now, before, level):
        outputs, seen = [], set()
        for held, new, old in zip(self.held, now, before, strict=True):
            is_written = new is not old or _C._functional_value(old, level)[1]
            if not is_written or id(old) in seen:
                continue
            seen.add(id(old))
            if held.kind is not InputKind.BUFFER:
                raise UserError(
                    f"The {held.kind.name.lower().replace('_', ' ')} {held.name} is written to "
                    "during export. Register it as a buffer, or write outside of forward."
                )
            kind = (OutputKind.BUFFER_MUTATION, held.name)
            outputs.append((kind, self._argument(new, level)))
        return outputs

    def _writes_to_inputs(self, inputs, level):
        outputs, seen = [], set()
        users = [s for s in self.inputs if s.kind is InputKind.USER_INPUT]
        for spec, value in zip(users, inputs, strict=True):
            if not isinstance(value, taeda.Tensor) or id(value) in seen:
                continue
            seen.add(id(value))
            if _C._functional_value(value, level)[1]:
                kind = (OutputKind.USER_INPUT_MUTATION, spec.arg.name)
                outputs.append((kind, self._argument(value, level)))
        return outputs

    def _result(self, leaf, level):
        if isinstance(leaf, taeda.Tensor):
            return _RESULT, self._argument(leaf, level)
        if isinstance(leaf, taeda.SymInt):
            return _RESULT, self.tracer.arg_of(leaf)
        if isinstance(leaf, _CONSTANTS):
            return _RESULT, leaf
        raise UserError(
            f"It looks like one of the outputs with type `{type(leaf)}` is not supported or "
            "pytree-flattenable. Exported graphs outputs can only contain the following types: "
            "Tensor, SymInt, int, float, bool, str, None."
        )

    # ---- constants ----
    def _lift_constants(self, num_held):
        """Tensors that the program took from elsewhere become inputs behind the module's own."""
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        behind = placeholders[num_held] if num_held < len(placeholders) else None
        lifted, where = {}, num_held
        for attribute, tensor in self.tracer.constants.items():
            target = f"lifted_tensor_{len(lifted)}"
            name = self.names.make(f"c_{target}")
            first = next(iter(self.graph.nodes))
            with self.graph.inserting_before(behind or first):
                node = self.graph.create_node("placeholder", name, name=name)
            reads = [n for n in self.graph.nodes if n.op == "get_attr" and n.target == attribute]
            for read in reads:
                node.meta.update(read.meta)
                read.replace_all_uses_with(node)
                self.graph.erase_node(read)
            spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target)
            self.inputs.insert(where, spec)
            where += 1
            lifted[target] = tensor.detach()
        return lifted


def _called(mod, args, kwargs):
    """The module's result; an error that data decides names the user's line."""
    try:
        return mod(*args, **kwargs)
    except DataDependentOutputException as error:
        reason = f"{error.func} reads a value that only a run of the program can tell"
        raise UserError(_data_dependent(reason, error)) from error
    except GuardOnDataDependentSymNode as error:
        raise UserError(_data_dependent(str(error), error)) from error


def _data_dependent(reason, error):
    return (
        f"Could not guard on data-dependent expression: {reason}, at "
        f"{user_line(error.__traceback__)}. Consider torch.where, torch.cond, or passing the value "
        "as an argument."
    )


def output_specs(kinds, args):
    """The specs of these results of a graph; `kinds` has (kind, target) of each."""
    specs = []
    for (kind, target), arg in zip(kinds, args, strict=True):
        if isinstance(arg, taeda.fx.Node):
            is_symbol = isinstance(arg.meta.get("val"), taeda.SymInt)
            argument = (SymIntArgument if is_symbol else TensorArgument)(arg.name)
        else:
            argument = ConstantArgument("", arg)
        specs.append(OutputSpec(kind, argument, target))
    return specs


def trace(mod, args, kwargs, dynamic_shapes=None):
    """The traced program of a module for these arguments."""
    dynamic = DynamicInputs(leaf_shapes(mod, args, kwargs, dynamic_shapes))
    return _Tracing(mod, dynamic).run(args, kwargs)
