"""set_trace: stops in the debugger where a graph module begins to run."""

from taeda.fx.graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm):
    """Puts a breakpoint at the begin of the module's code, in place; returns the module."""
    if not isinstance(gm, GraphModule):
        raise TypeError(f"set_trace takes a GraphModule, got {type(gm).__name__}")

    def with_breakpoint(body):
        return ["breakpoint()\n", *body]

    with gm.graph.on_generate_code(
        lambda before: lambda body: with_breakpoint(before(body) if before else body)
    ):
        gm.recompile()
    return gm
