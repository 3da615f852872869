"""Backends that count what they get, for tests of programs that are captured."""

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]


def _count_calls(gm):
    return sum("call" in node.op for node in gm.graph.nodes)


class CompileCounter:
    """Runs graphs as they are and counts them and their calls."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _count_calls(gm)
        return gm.forward

    def clear(self):
        """Counts from zero."""
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend:
    """The same with another backend behind it; keeps the graphs."""

    def __init__(self, backend):
        self.backend = backend
        self.clear()

    def __call__(self, gm, example_inputs):
        from taeda.compiler._backends import lookup_backend

        self.frame_count += 1
        self.op_count += _count_calls(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        """Counts from zero."""
        self.frame_count = 0
        self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """Runs graphs as they are and keeps them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward
