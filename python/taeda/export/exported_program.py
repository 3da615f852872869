"""ExportedProgram: a module as a closed graph with its tensors and its signature."""

import dataclasses
import itertools

import taeda
from taeda import _C
from taeda.compiler import _exporting
from taeda.export._decompose import decomposed, default_decompositions
from taeda.export._module_calls import ModuleCallEntry, ModuleCallSignature
from taeda.export._module_inputs import module_inputs
from taeda.export._names import forward_signature, in_call_order
from taeda.export._trace import trace
from taeda.export._unlift import unlift
from taeda.export.graph_signature import InputKind, symbolic_sizes
from taeda.fx.control_flow._regions import with_regions
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "default_decompositions"]


@dataclasses.dataclass
class CallSpec:
    """The structure of a program's arguments, as (args, kwargs), and of its result."""

    in_spec: pytree.TreeSpec | None
    out_spec: pytree.TreeSpec | None


class Verifier:
    """Checks programs of a dialect."""

    dialect = "ATEN"

    def check(self, ep):
        """RuntimeError for a program that breaks the rules of the dialect."""
        ep.validate()


class TrainingIRVerifier(Verifier):
    """Checks programs as they are traced: their graphs may write."""

    dialect = "TRAINING"


def verifier_of(dialect):
    """The verifier for a dialect."""
    return {cls.dialect: cls for cls in (Verifier, TrainingIRVerifier)}[dialect]


class ExportedProgram:
    """The result of `taeda.export.export`; `module()` makes it callable."""

    def __init__(
        self,
        root,
        graph,
        graph_signature,
        state_dict,
        range_constraints,
        module_call_graph,
        example_inputs=None,
        constants=None,
        *,
        verifiers=None,
    ):
        self._verifiers = list(verifiers or [Verifier])
        graph._codegen = taeda.fx.graph.CodeGen()
        self._graph_module = GraphModule(taeda.nn.Module() if root is None else root, graph)
        self._graph_signature = graph_signature
        self._state_dict = dict(state_dict)
        self._constants = dict(constants or {})
        self._range_constraints = dict(range_constraints)
        self._module_call_graph = list(module_call_graph)
        self._example_inputs = example_inputs
        self.validate()

    # ---- parts ----
    @property
    def graph_module(self):
        """The graph as a module of all its inputs."""
        return self._graph_module

    @property
    def graph(self):
        """The closed graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self):
        """The meaning of the graph's inputs and outputs."""
        return self._graph_signature

    @property
    def state_dict(self):
        """Parameters and persistent buffers by name."""
        return self._state_dict

    @property
    def constants(self):
        """The other tensors: non-persistent buffers, attributes, values made while tracing."""
        return self._constants

    tensor_constants = constants

    @property
    def example_inputs(self):
        """(args, kwargs) that the program was traced with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value):
        if value is not None and not (
            isinstance(value, tuple)
            and len(value) == 2
            and isinstance(value[0], tuple)
            and isinstance(value[1], dict)
        ):
            raise ValueError(
                "Example inputs should be a tuple containing example arguments (as a tuple), and "
                "example kwargs (as a dictionary)."
            )
        self._example_inputs = value

    @property
    def range_constraints(self):
        """The values that symbols may have."""
        return self._range_constraints

    @property
    def module_call_graph(self):
        """How the module was called, and its submodules in the order of their first calls."""
        return self._module_call_graph

    @property
    def call_spec(self):
        """The structure of arguments and result."""
        signature = self._module_call_graph[0].signature
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def verifiers(self):
        """The verifiers that checked the program."""
        return self._verifiers

    @property
    def verifier(self):
        """The first of the verifiers."""
        return self._verifiers[0]

    @property
    def dialect(self):
        """The operators that may occur: "TRAINING" as traced, "ATEN" once decomposed."""
        return self.verifier.dialect

    @property
    def _forward_names(self):
        return self._module_call_graph[0].signature.forward_arg_names

    def _tensor(self, name):
        return self._state_dict[name] if name in self._state_dict else self._constants[name]

    def named_parameters(self):
        """(name, parameter) pairs."""
        for name in self.graph_signature.parameters:
            yield name, self._tensor(name)

    def parameters(self):
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self):
        """(name, buffer) pairs."""
        for name in self.graph_signature.buffers:
            yield name, self._tensor(name)

    def buffers(self):
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    # ---- use ----
    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Unable to call ExportedProgram directly. "
            "You should use `exported_program.module()` instead."
        )

    def module(self, check_guards=True):
        """A module that runs the program, with the program's own parameters and buffers.

        check_guards: whether calls compare their inputs with what the program was made for.
        """
        return unlift(self, check_guards)

    def run_decompositions(self, decomp_table=None):
        """The program without writes, its operators replaced by what the table's functions call.

        decomp_table: {operator: function}; None stands for `default_decompositions()`. Composite
        operators that the table does not have stay whole if they neither write nor alias.
        """
        table = default_decompositions() if decomp_table is None else dict(decomp_table)
        graph, root, signature = decomposed(self, table)
        return ExportedProgram(
            root,
            graph,
            signature,
            self._state_dict,
            self._range_constraints,
            self._module_call_graph,
            self._example_inputs,
            self._constants,
        )

    def validate(self):
        """RuntimeError unless the graph is closed, fits signature and state and, in the dialect
        ATEN, writes nothing."""
        graph = with_regions(self.graph_module)
        _C._export.validate(graph, self._encoded_signature(), self._all_tensors())

    _validate = validate

    def _encoded_signature(self):
        sizes = symbolic_sizes(self.graph)
        assumed = sizes[0].node.shape_env.var_to_range if sizes else {}
        lows = {str(symbol): bounds.lower for symbol, bounds in assumed.items()}
        return self._graph_signature._encoded(self._range_constraints, lows, self.dialect)

    def _all_tensors(self):
        return {**self._state_dict, **self._constants}

    def __str__(self):
        code = self.graph_module.print_readable(print_output=False, colored=False)
        indented = code.replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            "ExportedProgram:\n"
            f"    {indented}\n"
            f"Graph signature: {signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


def _split_state(traced):
    """(state dict, constants) of a traced program."""
    state, constants = {}, {}
    for spec in traced.signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            continue
        is_state = spec.kind is InputKind.PARAMETER or spec.persistent
        (state if is_state else constants)[spec.target] = traced.state[spec.target]
    return state, constants


def _forward_names_of(mod, args, kwargs):
    """A name for each positional argument, then the keywords."""
    parameters = list(forward_signature(mod).parameters.values())
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    numbered = (f"{variadic}_{i}" for i in itertools.count())
    names = [positional[i] if i < len(positional) else next(numbered) for i in range(len(args))]
    return [*names, *kwargs]


def _export_module(mod, args, kwargs, dynamic_shapes, preserved, checks_calls):
    kwargs = in_call_order(mod, args, kwargs)
    with module_inputs(args, kwargs), _exporting():
        traced = trace(mod, args, kwargs, dynamic_shapes, preserved, checks_calls)
    state, constants = _split_state(traced)
    signature = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=traced.in_spec,
        out_spec=traced.out_spec,
        forward_arg_names=_forward_names_of(mod, args, kwargs),
    )
    return ExportedProgram(
        traced.root,
        traced.graph,
        traced.signature,
        state,
        traced.range_constraints,
        [ModuleCallEntry("", signature), *traced.calls],
        (args, kwargs),
        constants,
        verifiers=[TrainingIRVerifier],
    )
