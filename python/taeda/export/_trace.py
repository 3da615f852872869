"""Traces a module to a graph of its parameters, buffers, constants and inputs."""

import contextlib
import dataclasses

import taeda
from taeda import _C
from taeda._C._fx import GuardOnDataDependentSymNode
from taeda.export._dynamic_inputs import DynamicInputs, leaf_shapes
from taeda.export._errors import UserError
from taeda.export._leaks import warn_of_leaks
from taeda.export._mode_scopes import wrap_mode_scopes
from taeda.export._module_calls import ModuleCalls, argument_of
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
from taeda.fx._module_stack import ModuleStack, fill_module_stacks
from taeda.fx.control_flow._regions import with_submodules
from taeda.fx.fake.modes import detect_fake_mode
from taeda.fx.fake.tensors import DataDependentOutputException, FakeTensorMode
from taeda.fx.graph import Graph
from taeda.fx.operator_trace import ProxyTorchDispatchMode
from taeda.fx.passes.shape_prop import _extract_tensor_metadata
from taeda.utils import _pytree as pytree
from taeda.utils._config_module import export_config

_PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}
_CONSTANTS = (int, float, bool, str, type(None), complex, taeda.dtype, taeda.device)


@dataclasses.dataclass
class Traced:
    """The graph of a module and what belongs to it."""

    graph: Graph
    root: taeda.nn.Module  # the graphs that control flow calls
    signature: ExportGraphSignature
    state: dict  # parameters, buffers and constants by name
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    range_constraints: dict
    calls: list  # of submodules


class _Tracing:
    """One trace: the graph, the names of its inputs, and the tensors behind them."""

    def __init__(self, mod, dynamic, preserved, fake_mode=None):
        self.mod, self.dynamic = mod, dynamic
        self.graph = Graph()
        self.tracer = ProxyTorchDispatchMode(self.graph, "fake", pre_dispatch=True)
        self.tracer.keep_regions()
        self.modules = ModuleStack(mod)
        self.calls = ModuleCalls(self.tracer, preserved)
        self.tracer.set_node_callback(self._note)
        self.tracer.write_asserts_of(dynamic.env)
        if fake_mode is None:
            fake_mode = FakeTensorMode(
                allow_non_fake_inputs=True, shape_env=dynamic.env, static_shapes=True, export=True
            )
        self.fake_mode = fake_mode
        self.held = held_tensors(mod)
        self.names = UniqueNames()
        self.fakes = {}
        self.inputs = []

    def _note(self, node):
        note_stack(node)
        node.meta["nn_module_stack"] = self.modules.now()

    def run(self, args, kwargs):
        flat, in_spec = pytree.tree_flatten((args, kwargs))
        held = [self._held_input(h) for h in self.held]
        given = leaf_names(bound_arguments(self.mod, args, kwargs))
        users = [
            self._user_input(name, value, shape)
            for name, value, shape in zip(given, flat, self.dynamic.shapes, strict=True)
        ]
        self.dynamic.check_examples()
        grad_enabled = taeda.is_grad_enabled()
        with contextlib.ExitStack() as modes:
            modes.enter_context(self.fake_mode)
            modes.enter_context(self.modules.watching(self.calls.noted))
            modes.enter_context(self.tracer)
            modes.enter_context(taeda.set_grad_enabled(grad_enabled))
            results, out_spec = self._call(held, users, in_spec)
        self.tracer.write_asserts()
        if export_config.detect_non_strict_fake_tensor_leaks:
            warn_of_leaks(self.tracer)
        output = self.graph.create_node("output", "output", (tuple(results),))
        fill_module_stacks(self.graph)
        num_held = self._drop_unused_constants()
        constants = self._lift_constants(num_held)
        names = wrap_mode_scopes(self.graph, grad_enabled)
        calls = self.calls.collect(self.graph, self.modules)
        root = with_submodules(self.graph, names)
        fill_module_stacks(self.graph)
        kinds = [(OutputKind.USER_OUTPUT, None)] * len(results)
        signature = ExportGraphSignature(self.inputs, output_specs(kinds, output.args[0]))
        kept = {spec.target for spec in self.inputs}
        state = {h.name: h.tensor for h in self.held if h.name in kept} | constants
        ranges, signature.conditions = self.dynamic.finish()
        return Traced(self.graph, root, signature, state, in_spec, out_spec, ranges, calls)

    # ---- inputs ----
    def _placeholder(self, candidate, value):
        name = self.names.make(candidate)
        node = self.graph.create_node("placeholder", name, name=name)
        if isinstance(value, taeda.Tensor):
            node.meta["val"] = value.detach().requires_grad_(value.requires_grad)
            node.meta["tensor_meta"] = _extract_tensor_metadata(value)
            self.tracer.track(value, node)
        return node

    def _held_input(self, held):
        # A tensor that the module holds twice stays one.
        fake = self.fakes.get(id(held.tensor))
        if fake is None:
            fake = self.fakes[id(held.tensor)] = self.fake_mode.from_tensor(held.tensor)
        node = self._placeholder(_PREFIXES[held.kind] + identifier(held.name), fake)
        spec = InputSpec(held.kind, TensorArgument(node.name), held.name, held.persistent)
        self.inputs.append(spec)
        return fake

    def _user_input(self, name, value, shape):
        if isinstance(value, taeda.Tensor):
            value = self.dynamic.fake(self.fake_mode, value, name, shape)
            arg = TensorArgument(self._placeholder(name, value).name)
        elif not isinstance(value, _CONSTANTS):
            raise ValueError(
                f"Unsupported input type {type(value)}. Export only supports pytree containers of "
                "basic types (Tensor, int, float, ...) as input. To register a custom dataclass, "
                "use torch.export.register_dataclass. To register a custom container type, use "
                "torch.utils._pytree.register_pytree_node. To register a constant input, use "
                "torch.utils._pytree.register_constant"
            )
        else:
            value = self.dynamic.number(value, name, shape)
            node = self._placeholder(name, value)
            if isinstance(value, taeda.SymInt):
                self.tracer.track(value, node)
                node.meta["val"] = value
                arg = SymIntArgument(node.name)
            else:
                node.meta["val"] = value
                arg = ConstantArgument(node.name, value)
        self.inputs.append(InputSpec(InputKind.USER_INPUT, arg, None))
        return value

    # ---- the call ----
    def _call(self, held, users, in_spec):
        """The graph's results, and their spec."""
        args, kwargs = pytree.tree_unflatten(users, in_spec)
        names = [h.name for h in self.held] + [f"input {i}" for i in range(len(users))]
        tensors = [(n, t) for n, t in zip(names, held + users) if isinstance(t, taeda.Tensor)]
        memory = [_C._storage_id(t) for _, t in tensors]
        with standing_in(self.mod, self.held, held) as current:
            result = _called(self.mod, args, kwargs)
            _check_memory(tensors, memory)
            leaves, out_spec = pytree.tree_flatten(result)
            self._write_assigned(held, current())
        return [self._result(leaf) for leaf in leaves], out_spec

    def _write_assigned(self, before, now):
        """A tensor that stands in the place of another one at the end is written to it."""
        for held, old, new in zip(self.held, before, now, strict=True):
            if new is old or held.kind is InputKind.CONSTANT_TENSOR:
                continue
            if held.kind is InputKind.PARAMETER:
                raise UserError(
                    f"The parameter {held.name} was assigned during export. Register it as a "
                    "buffer, or assign outside of forward."
                )
            self.graph.create_node(
                "call_function",
                taeda.ops.aten.copy_.default,
                (self.tracer.arg_of(old), self.tracer.arg_of(new)),
            )

    def _result(self, leaf):
        if isinstance(leaf, (taeda.Tensor, taeda.SymInt, taeda.SymFloat, taeda.SymBool)):
            return self.tracer.arg_of(leaf)
        if isinstance(leaf, _CONSTANTS):
            return leaf
        raise UserError(
            f"It looks like one of the outputs with type `{type(leaf)}` is not supported or "
            "pytree-flattenable. Exported graphs outputs can only contain the following types: "
            "Tensor, SymInt, int, float, bool, str, None."
        )

    # ---- constants ----
    def _drop_unused_constants(self):
        """Constants are inputs where the graph uses them; gives the number of held inputs left."""
        placeholders = self.graph.find_nodes(op="placeholder")
        kept = []
        for node, spec in zip(placeholders, self.inputs, strict=True):
            if spec.kind is InputKind.CONSTANT_TENSOR and not node.users:
                self.graph.erase_node(node)
            else:
                kept.append(spec)
        self.inputs = kept
        return sum(spec.kind is not InputKind.USER_INPUT for spec in kept)

    def _lift_constants(self, num_held):
        """Tensors that the program took from elsewhere become inputs behind the module's own."""
        before = [n for n in self.graph.nodes if n.op == "placeholder"][:num_held]
        lifted, where = {}, num_held
        for attribute, tensor in self.tracer.constants.items():
            target = f"lifted_tensor_{len(lifted)}"
            name = self.names.make(f"c_{target}")
            graph = self.graph
            with graph.inserting_after(before[-1]) if before else graph.inserting_before():
                node = graph.create_node("placeholder", name, name=name)
            before.append(node)
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


def _check_memory(tensors, before):
    """Refuses programs that give a tensor other memory, which no operator of a graph does."""
    for (name, tensor), storage in zip(tensors, before, strict=True):
        if _C._storage_id(tensor) != storage:
            raise UserError(
                f"The data of {name} was assigned during export (`tensor.data = value`), which a "
                "graph cannot show. Write with `tensor.copy_(value)`, or assign outside of forward."
            )


def _called(mod, args, kwargs):
    """The module's result; an error that data decides names the user's line."""
    try:
        return mod(*args, **kwargs)
    except DataDependentOutputException as error:
        reason = f"{error.func} reads a value that only a run of the program can tell"
        raise UserError(_data_dependent(reason, error)) from error
    except GuardOnDataDependentSymNode as error:
        located = GuardOnDataDependentSymNode(
            f"{error}\n\nThe error above occurred in export, at {user_line(error.__traceback__)}. "
            "Consider torch.where, torch.cond, or passing the value as an argument."
        )
        located.cond = error.cond
        raise located from error


def _data_dependent(reason, error):
    return (
        f"Could not guard on data-dependent expression: {reason}, at "
        f"{user_line(error.__traceback__)}. Consider torch.where, torch.cond, or passing the value "
        "as an argument."
    )


def output_specs(kinds, args):
    """The specs of these results of a graph; `kinds` has (kind, target) of each."""
    return [
        OutputSpec(kind, argument_of(arg), target)
        for (kind, target), arg in zip(kinds, args, strict=True)
    ]


def trace(mod, args, kwargs, dynamic_shapes=None, preserved=(), checks_calls=False):
    """The traced program of a module for these arguments.

    preserved: paths of the submodules whose calls are described.
    checks_calls: whether conditions on sizes are left to calls.
    """
    fake_mode = detect_fake_mode((args, kwargs))  # that of arguments without values
    env = None if fake_mode is None else fake_mode.shape_env
    dynamic = DynamicInputs(leaf_shapes(mod, args, kwargs, dynamic_shapes), checks_calls, env)
    if fake_mode is not None:
        fake_mode.use_environment(dynamic.env)
    return _Tracing(mod, dynamic, preserved, fake_mode).run(args, kwargs)


def _export(
    mod,
    args,
    kwargs=None,
    dynamic_shapes=None,
    *,
    strict=True,
    preserve_module_call_signature=(),
    pre_dispatch=False,
    prefer_deferred_runtime_asserts_over_guards=False,
):
    """PyTorch's private name of `export`; without `pre_dispatch` the program is functional."""
    program = taeda.export.export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
    )
    return program if pre_dispatch else program.run_decompositions({})
