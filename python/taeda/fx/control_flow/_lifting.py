"""What a function takes from around it becomes an input of its graph.

    w = taeda.ones(3)                                  # of a trace, a transform, or just a tensor
    cond(pred, lambda a: a.sin(), lambda a: a * w, (x,))

While a function is traced the transforms around the call are off. Three things reach it then from
outside, and each is lifted where it is met:

- tensors and sizes that a trace further out knows, by a dispatch mode before the function's own
  tracer; of a program that C++ traces (`taeda/fx/retrace.h`), every fake tensor that the function
  did not make;
- tensors of the transforms, replaced by plain ones that look like them (`_call_replacing`);
- other tensors, constants of the graph, when it is complete (`_capture.py`).
"""

import contextlib
import threading

from taeda import _C
from taeda.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from taeda.utils._pytree import tree_map

_Tensor = _C.Tensor
_NUMBERS = (_C.SymInt, _C.SymFloat, _C.SymBool)


class _Enclosing(threading.local):
    """The tracers around the graph that is being made, and what lifts for the functions inside."""

    def __init__(self):
        self.tracers = []
        self.lifting = []
        self.programs = 0  # of C++, whose tracers are unknown here


_enclosing = _Enclosing()


class Lifting(TorchDispatchMode):
    """Makes inputs of the graph of what a function takes from around it.

    It stands before the tracer of the function, which then knows every argument.
    """

    supports_higher_order_operators = True

    def __init__(self, tracer):
        self.tracer = tracer
        self.outer = list(_enclosing.tracers)
        self.inputs = []  # (tensor or size outside, node)
        self.versions = []  # (tensor inside, its version when it came)
        self.replaced = {}  # by address, which the inputs keep in use

    @classmethod
    def is_infra_mode(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, kwargs = self.lift((args, kwargs or {}))
        return func(*args, **kwargs)

    def run(self, fn, args):
        """The results of a function, which refer to the graph."""
        _enclosing.lifting.append(self)
        try:
            with self:
                results = _C._call_replacing(self._replacement, fn, *args)
            return self.lift(results)
        finally:
            _enclosing.lifting.pop()

    def lift(self, tree):
        """The tree, of whose tensors the graph knows each that is not one of its constants."""
        return tree_map(self._lifted, tree)

    def check_unwritten(self, name):
        """Raises if an operator wrote to what was lifted for a function of the operator `name`."""
        if any(_version(inside) != version for inside, version in self.versions):
            raise RuntimeError(
                "Encountered input mutation during higher order op tracing: Higher order ops do "
                f"not support input mutation. A function of {name} writes to a tensor from around "
                "it; write to a clone"
            )

    def _lifted(self, leaf):
        if isinstance(leaf, _NUMBERS):
            self._lift_symbols(leaf)
            return leaf
        if not isinstance(leaf, _Tensor):
            return leaf
        info = _C._wrapper_info(leaf)
        if info is not None:
            is_active = info[1] > 0
            return leaf if is_active else self._replacement(leaf)
        if self.tracer.node_of(leaf) is None:
            node = self._node_around(leaf)
            if node is not None:
                self._add_input(leaf, leaf, node.meta)
            elif _enclosing.programs and _C._fx.is_fake(leaf):
                with _disable_current_modes():
                    meta = {"val": self.tracer.example(leaf)}
                self._add_input(leaf, leaf, meta)
        return leaf

    def _lift_symbols(self, number):
        node = number.node
        for symbol in sorted(node.expr.free_symbols, key=str):
            self._lift_integer(node.shape_env.create_symintnode(symbol))
        if isinstance(number, _C.SymInt):
            # A sum may be the size of a tensor where its parts are none.
            self._lift_integer(number)

    def _lift_integer(self, number):
        is_around = _enclosing.programs > 0 or any(t.knows(number) for t in self.outer)
        if not self.tracer.knows(number) and is_around:
            self._add_input(number, number, {"val": number})

    def _node_around(self, tensor):
        """The node of an enclosing graph that a tensor is; None for others."""
        nodes = [tracer.node_of(tensor) for tracer in reversed(self.outer)]
        return next((node for node in nodes if node is not None), None)

    def _replacement(self, wrapper):
        """The plain tensor for one of a transform around the call."""
        if id(wrapper) not in self.replaced:
            with _disable_current_modes():
                plain = below_levels(stand_in, wrapper)
                meta = {"val": below_levels(self.tracer.example, plain)}
            self.replaced[id(wrapper)] = plain
            self._add_input(wrapper, plain, meta)
        return self.replaced[id(wrapper)]

    def _add_input(self, outside, inside, meta):
        name = f"captured_{len(self.inputs)}"
        (placeholder,) = add_inputs(self.tracer.graph, [name])
        placeholder.meta.update(meta)
        self.tracer.track(inside, placeholder)
        self.inputs.append((outside, placeholder))
        if isinstance(inside, _Tensor):
            self.versions.append((inside, _version(inside)))


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


@contextlib.contextmanager
def tracing(tracer):
    """A scope in which functions of the tracer's program become graphs."""
    _enclosing.tracers.append(tracer)
    try:
        yield
    finally:
        _enclosing.tracers.pop()


@contextlib.contextmanager
def tracing_of_program():
    """The same for a program that C++ traces; gives a tracer that stands for its own."""
    from taeda.fx.graph import Graph
    from taeda.fx.operator_trace import ProxyTorchDispatchMode

    _enclosing.programs += 1
    try:
        yield ProxyTorchDispatchMode(Graph(), "fake")
    finally:
        _enclosing.programs -= 1


def key_of(value):
    """By what captured values are the same: tensors by address, sizes by what they are."""
    return id(value) if isinstance(value, _Tensor) else value.node.expr


def lifted_outside(tracer, tree):
    """The tree as the function sees it whose graph the tracer makes; itself for other tracers."""
    if not _enclosing.lifting or _enclosing.lifting[-1].tracer is not tracer:
        return tree
    return _enclosing.lifting[-1].lift(tree)


def add_inputs(graph, names):
    """Further placeholders behind those that are there."""
    following = next((node for node in graph.nodes if node.op != "placeholder"), None)
    place = contextlib.nullcontext() if following is None else graph.inserting_before(following)
    with place:
        return [graph.create_node("placeholder", name, name=name) for name in names]


# ---- transforms ----
def below_levels(function, *args):
    """Calls a function with every transform off."""
    if _C._num_levels() == 0:
        return function(*args)
    return _C._call_below_level(below_levels, function, *args)


def kinds_of_levels():
    """The transforms that are active, innermost first."""
    if _C._num_levels() == 0:
        return []
    return [_C._top_level()[1], *_C._call_below_level(kinds_of_levels)]


def stand_in(value):
    """A plain tensor that looks like `value` to those under its transforms: one of its examples."""
    if not isinstance(value, _Tensor):
        return value
    example = _example(value).detach()
    return _C._mark_requires_grad(example) if _needs_gradient(value) else example


def _example(tensor):
    info = _C._wrapper_info(tensor)
    if info is None:
        return tensor
    inner, _, dim = info
    return _example(inner) if dim < 0 else _example(inner).select(dim, 0)


def _needs_gradient(tensor):
    info = _C._wrapper_info(tensor)
    return tensor.requires_grad or (info is not None and _needs_gradient(info[0]))
