"""The compiler of graphs as a backend: of graphs that `taeda.compile` captured, and of others."""

from taeda._ops import OpOverload

from . import compile, compile_open

_OF_SIZES = ("_operator", "builtins", "math")

__all__ = ["compile_fx", "compile_fx_inner"]


def _calls_operators(graph):
    """Whether every call is one of an operator, or arithmetic on sizes."""
    for node in graph.nodes:
        if node.op in ("call_module", "call_method"):
            return False
        is_function = node.op == "call_function" and not isinstance(node.target, OpOverload)
        if is_function and getattr(node.target, "__module__", "") not in _OF_SIZES:
            return False
    return True


def compile_fx(model_, example_inputs_, *, native=None, check=None):
    """Compiles a GraphModule for inputs like these: a function of the same inputs.

    The graph calls operators, or functions of Python on fake tensors, as a captured one does.
    Inputs that require gradients have them.
    """
    make = compile if _calls_operators(model_.graph) else compile_open
    return make(model_, example_inputs_, native=native, check=check)


def compile_fx_inner(gm, example_inputs, **_):
    """Compiles a graph of operators, as ahead-of-time traces hand it to their compilers."""
    return compile(gm, example_inputs)
