"""What the inputs and outputs of an exported graph stand for."""

import dataclasses
from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

import taeda

__all__ = [
    "ConstantArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
]


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A symbolic integer, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A symbolic float, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A symbolic truth value, by the name of its node."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """A number, a string or None, fixed when the program was traced."""

    name: str
    value: int | float | bool | str | None


ArgumentSpec = (
    TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument
)


class InputKind(Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """Where an output of the graph goes."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


def _line(spec):
    text = f"{spec.arg.name}: {spec.kind.name}"
    if spec.target is not None:
        text += f" target={spec.target!r}"
    if getattr(spec, "persistent", None) is not None:
        text += f" persistent={spec.persistent}"
    return text


@dataclasses.dataclass
class InputSpec:
    """One input of the graph; `target` is its name in the module."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __post_init__(self):
        if self.kind == InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self):
        return _line(self)


@dataclasses.dataclass
class OutputSpec:
    """One output of the graph; `target` is what gets the new value."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __str__(self):
        return _line(self)


@dataclasses.dataclass
class ExportBackwardSignature:
    """What the gradients among a program's outputs belong to."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]
    # On the symbols of sizes, beside their ranges; checked at every call.
    conditions: list[str] = dataclasses.field(default_factory=list)

    def _targets(self, kind):
        return tuple(s.target for s in self.input_specs if s.kind == kind)

    def _by_input(self, kind) -> Mapping[str, str]:
        found = {s.arg.name: s.target for s in self.input_specs if s.kind == kind}
        return MappingProxyType(found)

    def _by_output(self, kind) -> Mapping[str, str]:
        found = {s.arg.name: s.target for s in self.output_specs if s.kind == kind}
        return MappingProxyType(found)

    @property
    def parameters(self):
        """Names of the parameters in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self):
        """Names of the buffers in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self):
        """Names of the buffers that are no part of the state dict."""
        return tuple(
            s.target
            for s in self.input_specs
            if s.kind == InputKind.BUFFER and s.persistent is False
        )

    @property
    def lifted_tensor_constants(self):
        """Names of the tensors that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self):
        """Names of custom objects among the inputs."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self):
        """The caller's inputs: names of nodes, values of constants."""
        return tuple(
            s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name
            for s in self.input_specs
            if s.kind == InputKind.USER_INPUT
        )

    @property
    def user_outputs(self):
        """The results: names of nodes, values of constants."""
        return tuple(
            s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name
            for s in self.output_specs
            if s.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        )

    @property
    def inputs_to_parameters(self):
        """{node: parameter}"""
        return self._by_input(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self):
        """{node: buffer}"""
        return self._by_input(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self):
        """{node: constant}"""
        return self._by_input(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self):
        """{node: custom object}"""
        return self._by_input(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self):
        """{node of the new value: buffer}"""
        return self._by_output(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self):
        """{node of the new value: parameter}"""
        return self._by_output(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self):
        """{node of the new value: input}"""
        return self._by_output(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self):
        """Of programs with their gradients; None for others."""
        losses = [s.arg.name for s in self.output_specs if s.kind == OutputKind.LOSS_OUTPUT]
        if not losses:
            return None
        return ExportBackwardSignature(
            dict(self._by_output(OutputKind.GRADIENT_TO_PARAMETER)),
            dict(self._by_output(OutputKind.GRADIENT_TO_USER_INPUT)),
            losses[0],
        )

    def replace_all_uses(self, old, new):
        """Renames a node wherever the signature names it; user inputs keep their targets."""
        for spec in [*self.input_specs, *self.output_specs]:
            if not isinstance(spec.arg, ConstantArgument) and spec.arg.name == old:
                spec.arg.name = new
        for spec in self.output_specs:
            if spec.kind == OutputKind.USER_INPUT_MUTATION and spec.target == old:
                spec.target = new

    def get_replace_hook(self, replace_inputs=False):
        """A function for `GraphModule._set_replace_hook` that keeps the names up to date."""

        def renamed(old, new, user):
            if user.op == "output" or (replace_inputs and old.op == "placeholder"):
                self.replace_all_uses(old.name, new)

        return renamed

    def __str__(self):
        inputs = "\n".join(map(str, self.input_specs))
        outputs = "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"

    # ---- the form that archives have ----
    def _encoded(self, range_constraints, assumed, dialect) -> dict[str, Any]:
        """assumed: {name of a symbol: the least value while the program was traced}."""
        # What only data tells is checked by assertions of the graph.
        ranges = [
            _encoded_range(size, r, assumed.get(str(size)))
            for size, r in range_constraints.items()
            if r.lower >= 0
        ]
        return {
            "inputs": [_encoded_spec(s) for s in self.input_specs],
            "outputs": [_encoded_spec(s) for s in self.output_specs],
            "ranges": ranges,
            "conditions": list(self.conditions),
            "dialect": dialect,
        }

    @staticmethod
    def _decoded(encoded):
        inputs = [
            InputSpec(
                InputKind[d["kind"].upper()],
                _decoded_argument(d),
                d.get("target"),
                d.get("persistent") if d["kind"] == "buffer" else None,
            )
            for d in encoded["inputs"]
        ]
        outputs = [
            OutputSpec(OutputKind[d["kind"].upper()], _decoded_argument(d), d.get("target"))
            for d in encoded["outputs"]
        ]
        return ExportGraphSignature(inputs, outputs, list(encoded["conditions"]))


def symbolic_sizes(graph):
    """The sizes and numbers of a graph's inputs that are symbolic."""
    values = [node.meta.get("val") for node in graph.find_nodes(op="placeholder")]
    sizes = (size for value in values for size in getattr(value, "shape", (value,)))
    return [size for size in sizes if isinstance(size, taeda.SymInt)]


_ARGUMENTS = {
    "tensor": TensorArgument,
    "sym_int": SymIntArgument,
    "sym_float": SymFloatArgument,
    "sym_bool": SymBoolArgument,
    "constant": ConstantArgument,
}


def _encoded_spec(spec):
    (argument,) = (name for name, cls in _ARGUMENTS.items() if isinstance(spec.arg, cls))
    encoded = {"kind": spec.kind.name.lower(), "argument": argument, "name": spec.arg.name}
    if spec.target is not None:
        encoded["target"] = spec.target
    if argument == "constant":
        encoded["value"] = spec.arg.value
    if getattr(spec, "persistent", None) is not None:
        encoded["persistent"] = spec.persistent
    return encoded


def _decoded_argument(encoded):
    cls = _ARGUMENTS[encoded["argument"]]
    if cls is ConstantArgument:
        return ConstantArgument(encoded["name"], encoded["value"])
    return cls(encoded["name"])


def _encoded_range(size, bounds, assumed):
    encoded = {"symbol": str(size), "low": int(bounds.lower)}
    if assumed is not None and assumed > bounds.lower:
        encoded["assumed"] = int(assumed)
    if bounds.upper != float("inf"):
        encoded["high"] = int(bounds.upper)
    return encoded
