"""A program as one graph: what taeda._dynamo.export and strict exports are made of."""

import dataclasses

import taeda
from taeda.compiler._autocast_scopes import write_autocast_scopes
from taeda.compiler._compile import CompileContext, compile_callable
from taeda.compiler._stance import as_captured
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree

__all__ = ["Place", "WholeGraph", "capture_whole"]

_Tensor = taeda.Tensor


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a value comes from.

    "argument" and "output" have a number: of the flat arguments, of the graph's results. A
    "tensor" and a "constant" are themselves; "state" has the name of a parameter or buffer.
    """

    kind: str
    value: object


@dataclasses.dataclass
class WholeGraph:
    """The graph of a call, with the places of its inputs and of the call's results."""

    module: GraphModule | None  # None where the call has no operation on tensors
    inputs: list
    results: list
    writes: dict  # parameters and buffers that the call replaced, by name
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    guards: list


class _Number(int):
    """A number that the graph gave, told from equal ones by its own identity."""


class _Run:
    """A backend that keeps its graph, and what it took and gave when the program ran."""

    def __init__(self):
        self.gm = None
        self.taken = self.given = ()

    def __call__(self, gm, _inputs):
        self.gm = gm
        return self.run

    def run(self, *inputs):
        """The graph on copies: what it writes to its inputs, the program does not see."""
        self.taken = inputs
        given = self.gm(*(_copy(value) for value in inputs))
        self.given = tuple(_Number(v) if type(v) is int else v for v in given)
        return self.given


def _copy(value):
    if not isinstance(value, _Tensor):
        return value
    with taeda.no_grad():
        return value.detach().clone().requires_grad_(value.requires_grad)


def _state_of(module):
    """Parameters and buffers by name, each tensor by every name that it has."""
    if not isinstance(module, taeda.nn.Module):
        return {}
    named = [*module.named_parameters(remove_duplicate=False)]
    return dict([*named, *module.named_buffers(remove_duplicate=False)])


def _set(module, name, value):
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path) if path else module, last, value)


def _apart(values):
    """The values, each tensor an object of its own: arguments of later calls need not be equal."""
    seen, apart = set(), []
    for value in values:
        if isinstance(value, _Tensor) and id(value) in seen:
            with taeda.no_grad():
                value = value.detach().requires_grad_(value.requires_grad)
        seen.add(id(value))
        apart.append(value)
    return apart


def _index(values, wanted):
    return next((i for i, value in enumerate(values) if value is wanted), None)


def capture_whole(function, args, kwargs, dynamic=None, module=None):
    """The one graph of a call; a break is an error (`Unsupported`) that names the program's line.

    The call runs once: what it writes to objects of Python happens, and parameters and buffers of
    the module are put back.
    """
    kept, guards = _Run(), []
    context = CompileContext(kept, fullgraph=True, dynamic=dynamic, guard_export_fn=guards.extend)
    flat, in_spec = pytree.tree_flatten((args, kwargs))
    flat = _apart(flat)
    args, kwargs = pytree.tree_unflatten(flat, in_spec)
    state = _state_of(module)
    with as_captured():
        result = compile_callable(function, context)(*args, **kwargs)
    now = _state_of(module)
    places = [
        *(("argument", i, value) for i, value in enumerate(flat) if isinstance(value, _Tensor)),
        *(("state", name, value) for name, value in state.items()),
    ]

    def place_of(value):
        index = _index(kept.given, value)
        if index is not None and isinstance(value, (_Tensor, _Number)):
            return Place("output", index)
        if not isinstance(value, _Tensor):
            return Place("constant", value)
        for kind, name, known in places:
            if known is value:
                return Place(kind, name)
        return Place("tensor", value)

    def input_of(value):
        place = place_of(value)
        if place.kind == "constant":
            index = _index(flat, value)
            return place if index is None else Place("argument", index)
        return place

    leaves, out_spec = pytree.tree_flatten(result)
    writes = {}
    for name, before in state.items():
        if now.get(name) is not before:
            writes[name] = place_of(now[name])
            _set(module, name, before)
    taken, given = kept.taken, kept.given
    kept.given = ()
    inputs = [input_of(value) for value in taken]
    kept.given = given
    results = [place_of(leaf) for leaf in leaves]
    if kept.gm is not None:
        write_autocast_scopes(kept.gm)
    return WholeGraph(kept.gm, inputs, results, writes, in_spec, out_spec, guards)
