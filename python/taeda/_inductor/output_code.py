"""What compilers of graphs give, by PyTorch's path: callables of the list of a graph's inputs."""

import dataclasses

__all__ = ["MockFXGraphCacheOutput", "OutputCode"]


@dataclasses.dataclass
class OutputCode:
    """A compiled graph; a class of a compiler's own says how it runs."""

    # The hash of the graph and the lines that it was made of; None where it is not known.
    _fx_graph_cache_key: str | None = dataclasses.field(default=None, init=False)
    _fx_graph_cache_debug_lines: list | None = dataclasses.field(default=None, init=False)
    # How long the compile took.
    _time_taken_ns: int | None = dataclasses.field(default=None, init=False)

    def __post_init__(self):
        self._boxed_call = True

    def __call__(self, inputs):
        raise NotImplementedError(type(self))

    def post_compile(self, example_inputs, constants, graph_kwargs):
        """Called when the graph was compiled, or found in a cache."""


@dataclasses.dataclass
class MockFXGraphCacheOutput(OutputCode):
    """A function of the list of inputs as a compiled graph, for tests of caches."""

    gm: object = None

    def __call__(self, inputs):
        return self.gm(inputs)
