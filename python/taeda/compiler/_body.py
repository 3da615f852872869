"""A function of a captured program, which calls of its graph take."""

from taeda._C._dynamo import call_keeping_modes
from taeda.fx.graph_module import GraphModule

__all__ = ["Body"]


class Body(GraphModule):
    """A graph that sets modes by nodes, where the program has scopes: an error ends them, too."""

    def __call__(self, *args):
        return call_keeping_modes(super().__call__, *args)
