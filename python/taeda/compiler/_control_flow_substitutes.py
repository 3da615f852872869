"""What captures enter in place of calls of control flow: loops, scans and maps.

The functions of an operator become graphs of their own, which take the operands and whatever else
they use, as under a tracer; the call is one node.
"""

import taeda
from taeda._C._dynamo import as_operator, capture_body
from taeda._higher_order_operator import _higher_order_ops
from taeda.fx.control_flow import _capture
from taeda.fx.control_flow._functions import UserFunction

__all__ = ["SUBSTITUTES"]

_Tensor = taeda.Tensor


def _dispatch(self, args, kwargs):
    closed = self.closed(None, *args)
    return as_operator(_call, (self._name, *closed), {})


def _closed_graphs(tracer, functions, operands):
    """For each function (module, roles, settings): roles are places among operands and the rest."""
    # A function may take an operand from around it, too: those that it is given are others.
    given = tuple(o.view_as(o) if isinstance(o, _Tensor) else o for o in operands)
    for operand in operands:
        if not isinstance(operand, _Tensor):
            taeda._dynamo.graph_break()
    places, graphs = list(given), []
    for function in functions:
        call = function.call if isinstance(function, UserFunction) else function
        body, taken, _, _ = capture_body(call, given, {}, False)
        graphs.append((body, tuple([_place(places, one) for one in taken]), _settings(function)))
    return graphs, tuple(places[len(given) :])


def _place(places, wanted):
    """The place of a value, which is added where it is new."""
    for i, one in enumerate(places):
        if one is wanted:
            return i
    places.append(wanted)
    return len(places) - 1


def _settings(function):
    if not isinstance(function, UserFunction):
        return "", False, False
    return function.name, function.may_alias, function.takes_batches


SUBSTITUTES = {
    _capture.ControlFlow.dispatch: _dispatch,
    _capture.closed_graphs: _closed_graphs,
}


class _Body(UserFunction):
    """A function that was captured."""

    def __init__(self, body, roles, settings):
        super().__init__(settings[0])
        self.may_alias, self.takes_batches = settings[1:]
        self.body = body
        self.roles = roles

    def call(self, *given):
        return tuple(self.body(*(given[role] for role in self.roles)))


def _call(name, *args):
    """The call of an operator, as a node of a graph."""
    operator = _higher_order_ops[name]
    count = len(operator.graph_names)
    return operator(*(_Body(*made) for made in args[:count]), *args[count:])
