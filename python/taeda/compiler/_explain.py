"""What became of a program: graphs, breaks, guards, recompiles, kernels and where the time went."""

import collections
import dataclasses
import linecache
import re
import time
import traceback

from taeda.compiler._compile import (
    CompileContext,
    code_of,
    compile_callable,
    place_told,
    trampoline,
)
from taeda.compiler._guards import read_guards
from taeda.compiler._marks import innermost_fn
from taeda.compiler._remedies import remedy_of

__all__ = ["ExplainOutput", "GraphBreakReason", "explain"]


@dataclasses.dataclass
class GraphBreakReason:
    """Why a graph ended, and where."""

    reason: str
    file: str
    line: int
    function: str = ""
    instruction: str = ""
    graph_break: bool = True

    @property
    def user_stack(self):
        """The frame of the program, as tracebacks have it."""
        return [traceback.FrameSummary(self.file, self.line, self.function, line=self.source)]

    @property
    def source(self):
        """The line of the program."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def remedy(self):
        """What a program can do about it; empty where nothing is known."""
        return remedy_of(self.reason)

    def __str__(self):
        lines = [f"Reason: {self.reason}", "User Stack:"]
        lines += [f"  {frame}" for frame in self.user_stack]
        if self.source:
            lines.append(f"Line: {self.source}")
        if self.remedy:
            lines.append(f"Remedy: {self.remedy}")
        return "\n".join(lines)


@dataclasses.dataclass
class ExplainOutput:
    """The graphs of a program, with the breaks between them."""

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list | None = None
    out_guards: list | None = None
    compile_times: str | None = None
    # Versions that no longer fitted: the guard that failed, with both values.
    recompiles: list = dataclasses.field(default_factory=list)
    # Instructions that ran as they are, by name; how often captures ended at them.
    natively: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    # Guards by region: (place, guards).
    guards_by_region: list = dataclasses.field(default_factory=list)
    # By graph: what the compiler of graphs made of it, or the text of its error.
    kernels: list = dataclasses.field(default_factory=list)
    # By stage.
    seconds: dict = dataclasses.field(default_factory=dict)

    def kernel_lines(self):
        """(graph, step, values, lines of the program): each step of the compiled graphs."""
        for number, compiled in enumerate(self.kernels):
            reports = [] if isinstance(compiled, str) else compiled.report()
            parts = ("",) if len(reports) == 1 else ("forward ", "backward ")
            for part, report in zip(parts, reports, strict=False):
                for step in report["steps"]:
                    lines = [_with_source(line) for line in step["lines"]]
                    yield number, part + step["name"], step["values"], lines

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for i, reason in enumerate(self.break_reasons):
            lines.append(f"  Break Reason {i + 1}:")
            lines += [f"    {line}" for line in str(reason).splitlines()]
        if self.ops_per_graph is not None:
            lines.append("Ops per Graph:")
            for i, ops in enumerate(self.ops_per_graph):
                lines.append(f"  Ops {i + 1}:")
                lines += [f"    {op}" for op in ops]
        if self.out_guards is not None:
            lines.append("Out Guards:")
            for i, guard in enumerate(self.out_guards):
                lines += [f"  Guard {i + 1}:", f"    {guard}"]
        lines += ["Recompiles:", *(f"  {text}" for text in self.recompiles)]
        lines.append("Run natively:")
        lines += [f"  {name}: {count}" for name, count in self.natively.most_common()]
        lines.append("Kernels:")
        lines += self._kernel_text()
        if self.compile_times is not None:
            lines.append(f"Compile Times: {self.compile_times}")
        return "\n".join(lines)

    def _kernel_text(self):
        lines, known = [], None
        for number, name, values, places in self.kernel_lines():
            if number != known:
                lines.append(f"  Graph {number + 1}:")
                known = number
            lines.append(f"    {name} gives {', '.join(values)}")
            lines += [f"      {place}" for place in places]
        return lines

    def html(self, path):
        """Writes everything to one page, which needs no other file."""
        from taeda.compiler._explain_page import page_of

        with open(path, "w", encoding="utf-8") as file:
            file.write(page_of(self))


class _Explained:
    """Collects what a capture tells while a program runs once."""

    def __init__(self, target):
        self.target = target
        self.graphs, self.kernels, self.breaks, self.recompiles = [], [], [], []
        self.natively = collections.Counter()
        self.captured = self.compiled = 0.0

    def compile_graph(self, gm, inputs):
        """A backend: the compiler of graphs, with interpreted kernels; what it lacks runs as is."""
        from taeda import _inductor

        start = time.perf_counter()
        self.graphs.append(gm)
        try:
            compiled = _inductor.compile_open(gm, inputs, native="never").time()
            self.kernels.append(compiled)
            return compiled
        except Exception as error:
            self.kernels.append(f"{type(error).__name__}: {error}")
            return gm.forward
        finally:
            self.compiled += time.perf_counter() - start

    def report(self, what, text, file, line, instruction, code):
        """What a capture tells of itself."""
        file, line, code = place_told(self.target, what, file, line, code)
        if what in ("break", "given up"):
            name = code.co_name if code else ""
            self.breaks.append(GraphBreakReason(text, file, line, name, instruction))
            if instruction:
                self.natively[instruction] += 1
        elif what in ("recompile", "limit"):
            self.recompiles.append(f"{file}:{line}: {text}")
        elif what == "graph":
            self.captured += float(text)
        return False


def _is_call(node):
    return node.op in ("call_function", "call_method", "call_module")


_PLACE = re.compile(r'File "(.+)", line (\d+), in (.+)')


def _with_source(line):
    """A line of a traceback as file:line with the program's text."""
    found = _PLACE.match(line)
    if found is None:
        return line
    source = linecache.getline(found[1], int(found[2])).strip()
    return f"{found[1]}:{found[2]}" + (f": {source}" if source else "")


def _regions_of(compiled, target):
    """(place, guards) of each compiled version."""
    inner = getattr(compiled, "func", getattr(compiled, "__func__", compiled))
    regions = []
    for file, line, rows in inner.guards:
        if inner.function is trampoline and file == trampoline.__code__.co_filename:
            # The call of a module or object begins with its own code.
            code = code_of(target) or trampoline.__code__
            file, line = code.co_filename, code.co_firstlineno
        regions.append((f"{file}:{line}", read_guards(rows)))
    return regions


def _times(seconds):
    return ", ".join(f"{stage} {value * 1e3:.2f} ms" for stage, value in seconds.items())


def explain(f, *extra_args, **extra_kwargs):
    """explain(f)(*args): calls the function once and tells how it was captured and compiled."""

    def inner(*args, **kwargs):
        target = _target(f)
        told = _Explained(target)
        context = CompileContext(told.compile_graph, report=told.report)
        compiled = compile_callable(target, context)
        start = time.perf_counter()
        compiled(*args, **kwargs)
        whole = time.perf_counter() - start
        seconds = {
            "capture": max(told.captured - told.compiled, 0.0),
            "compile": told.compiled,
            "run": max(whole - told.captured, 0.0),
        }
        regions = _regions_of(compiled, target)
        ops = [[node.target for node in gm.graph.nodes if _is_call(node)] for gm in told.graphs]
        return ExplainOutput(
            graphs=told.graphs,
            graph_count=len(told.graphs),
            graph_break_count=len(told.breaks),
            break_reasons=told.breaks,
            op_count=sum(map(len, ops)),
            ops_per_graph=ops,
            out_guards=[guard for _, guards in regions for guard in guards],
            compile_times=_times(seconds),
            recompiles=told.recompiles,
            natively=told.natively,
            guards_by_region=regions,
            kernels=told.kernels,
            seconds=seconds,
        )

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _target(f):
    from taeda.compiler._module import OptimizedModule

    return f._orig_mod if isinstance(f, OptimizedModule) else innermost_fn(f)
