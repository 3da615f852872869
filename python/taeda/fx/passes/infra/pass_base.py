"""PassBase: a pass with a check before and one after it."""

import abc
from collections import namedtuple

__all__ = ["PassBase", "PassResult"]

# The module, and whether the pass changed it.
PassResult = namedtuple("PassResult", ["graph_module", "modified"])


class PassBase(abc.ABC):
    """Define `call(graph_module)`; `requires` and `ensures` may raise."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Changes the module; returns a PassResult."""

    def requires(self, graph_module):  # noqa: B027
        """Checks the module before."""

    def ensures(self, graph_module):  # noqa: B027
        """Checks the module after."""
