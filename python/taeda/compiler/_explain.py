"""What became of a program: graphs, breaks with their places, guards and recompiles."""

import dataclasses
import linecache

from taeda.compiler._compile import compile_callable

__all__ = ["ExplainOutput", "GraphBreakReason", "explain"]

_REMEDIES = (
    ("call of print", "print behind the compiled function, or accept the break"),
    ("only data tells", "use taeda.where or taeda.cond, or keep the value a tensor"),
    ("left alone", "the function is marked with taeda.compiler.disable"),
    ("as a text", "format the tensor behind the compiled function"),
)


@dataclasses.dataclass
class GraphBreakReason:
    """Why a graph ended, and where."""

    reason: str
    file: str
    line: int

    @property
    def user_stack(self):
        return [f"{self.file}:{self.line}"]

    @property
    def source(self):
        """The line of the program."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def remedy(self):
        """What a program can do about it; empty where nothing is known."""
        return next((text for part, text in _REMEDIES if part in self.reason), "")

    def __str__(self):
        text = f"{self.file}:{self.line}: {self.reason}\n      {self.source}"
        return text + (f"\n      remedy: {self.remedy}" if self.remedy else "")


@dataclasses.dataclass
class ExplainOutput:
    """The graphs of a program, with the breaks between them."""

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list
    out_guards: list
    recompiles: list
    compile_times: str = ""

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        lines += [f"  Break Reason {i + 1}:\n    {r}" for i, r in enumerate(self.break_reasons)]
        lines += ["Recompiles:", *(f"  {text}" for text in self.recompiles)]
        lines.append("Ops per Graph:")
        for i, ops in enumerate(self.ops_per_graph):
            lines.append(f"  Ops {i + 1}:")
            lines += [f"    {op}" for op in ops]
        lines += ["Out Guards:", *(f"  {guard}" for guard in self.out_guards)]
        return "\n".join(lines)


def _is_call(node):
    return node.op in ("call_function", "call_method", "call_module")


def explain(f, *extra_args, **extra_kwargs):
    """explain(f)(*args): calls the function once and tells how it was captured."""

    def inner(*args, **kwargs):
        graphs, breaks, recompiles = [], [], []

        def collect(gm, _inputs):
            graphs.append(gm)
            return gm

        def report(what, text, file, line):
            if what in ("break", "given up"):
                breaks.append(GraphBreakReason(text, file, line))
            elif what in ("recompile", "limit"):
                recompiles.append(f"{file}:{line}: {text}")

        compiled = compile_callable(f, collect, {}, False, None, report=report)
        compiled(*args, **kwargs)
        ops = [[node.target for node in gm.graph.nodes if _is_call(node)] for gm in graphs]
        return ExplainOutput(
            graphs=graphs,
            graph_count=len(graphs),
            graph_break_count=len(breaks),
            break_reasons=breaks,
            op_count=sum(map(len, ops)),
            ops_per_graph=ops,
            out_guards=_guards(compiled),
            recompiles=recompiles,
        )

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _guards(compiled):
    inner = getattr(compiled, "func", getattr(compiled, "__func__", compiled))
    return inner.guards.splitlines()
