"""Counts the instructions of a statement in a process of its own under valgrind.

The process tells callgrind when to collect and when to write a profile. What telling it costs is in
the baseline too.
"""

import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

import taeda
from taeda.utils.benchmark._function_counts import CallgrindStats, FunctionCount, FunctionCounts

_PLAIN = (str, bytes, bool, int, float, complex)
_BLOCK = 100

_SCRIPT = """
import gc, pickle, sys
sys.path[:] = {path!r}
import taeda
torch = taeda
taeda.set_num_threads({threads})
{globals}
{setup}
def _run():
{warm_up}
_run()
gc.collect()
def _counted():
{counted}
gc.collect()
taeda._C._valgrind_toggle()
_counted()
taeda._C._valgrind_toggle_and_dump_stats()
"""


class CopyIfCallgrind:
    """A global whose copy may stand for it in the process that is measured.

    Plain numbers and texts, and modules, for which `setup` may import what they need.
    """

    def __init__(self, value, *, setup=None):
        if not isinstance(value, (*_PLAIN, taeda.nn.Module)):
            names = "\n".join(f"  {kind.__name__}" for kind in (*_PLAIN, taeda.nn.Module))
            raise ValueError(
                f"Unsupported type: {type(value)}\n"
                f"`collect_callgrind` restricts globals to the following types:\n{names}"
            )
        self._value, self._setup = value, setup

    @property
    def value(self):
        return self._value

    @property
    def setup(self):
        return self._setup

    @staticmethod
    def unwrap_all(globals):
        return {k: v.value if isinstance(v, CopyIfCallgrind) else v for k, v in globals.items()}

    def _source(self, name, folder):
        """What gives the copy its name in the other process."""
        path = str(folder / f"{name}.pkl")
        load = f"with open({path!r}, 'rb') as _file: {name} = pickle.load(_file)"
        if isinstance(self._value, taeda.nn.Module):
            taeda.save(self._value, path)
            load = f"{name} = taeda.load({path!r}, weights_only=False)"
        else:
            pathlib.Path(path).write_bytes(pickle.dumps(self._value))
        return f"{textwrap.dedent(self._setup)}\n{load}" if self._setup else load


def check_globals(globals):
    for name in ("torch", "taeda"):
        if globals.get(name, taeda) is not taeda:
            raise ValueError(f"`collect_callgrind` does not support mocking out `{name}`.")
    for name, value in globals.items():
        if name not in ("torch", "taeda", "__builtins__") and not isinstance(
            value, CopyIfCallgrind
        ):
            raise ValueError(
                "`collect_callgrind` requires that globals be wrapped in `CopyIfCallgrind` so "
                "that serialization is explicit."
            )


def _repeated(stmt, number):
    """A source that runs a statement so often, with few loops around it."""
    loops, rest = divmod(number, _BLOCK) if number > _BLOCK else (0, number)
    block = textwrap.indent("\n".join([stmt] * _BLOCK), "    ")
    source = f"for _ in range({loops}):\n{block}\n" if loops else ""
    return source + "\n".join([stmt] * rest)


def _script(task_spec, globals, folder, counted):
    wrapped = {k: v for k, v in globals.items() if isinstance(v, CopyIfCallgrind)}
    return _SCRIPT.format(
        path=sys.path,
        threads=task_spec.num_threads,
        globals="\n".join(v._source(k, folder) for k, v in wrapped.items()),
        setup=task_spec.setup,
        warm_up=textwrap.indent("\n".join([task_spec.stmt] * 5), "    "),
        counted=textwrap.indent(counted, "    "),
    )


def _counts(profile, inclusive):
    """What callgrind_annotate prints: lines of a number and `file:function`, below a heading."""
    command = [
        "callgrind_annotate",
        f"--inclusive={'yes' if inclusive else 'no'}",
        "--threshold=100",
        "--show-percs=no",
        str(profile),
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    total = re.search(r"^\s*([0-9,]+)\s+PROGRAM TOTALS", text, re.M)
    heading = re.search(r"^\s*Ir\s+file:function\s*$", text, re.M)
    if total is None or heading is None:
        raise RuntimeError(
            f"[collect_callgrind] no counts in what callgrind_annotate says:\n{text}"
        )
    rows = []
    for line in text[heading.end() :].splitlines():
        if found := re.match(r"^\s*([0-9,]+)\s+(.+:.+)$", line):
            rows.append(FunctionCount(int(found[1].replace(",", "")), found[2]))
        elif line and not line.startswith("-"):
            break
    # Frames above the statement hold all of it.
    whole = int(total[1].replace(",", ""))
    rows = [row for row in rows if not inclusive or row.count != whole]
    return FunctionCounts(tuple(sorted(rows, reverse=True)), inclusive)


def _check_commands():
    if not taeda._C._valgrind_supported_platform():
        raise OSError("Valgrind is not supported on this platform.")
    missing = [c for c in ("valgrind", "callgrind_annotate") if shutil.which(c) is None]
    if missing:
        raise OSError("Missing: " + ", ".join(missing))


def _profile(source, folder):
    """Runs a script under valgrind and gives the profile that it asked for.

    Each has its own process: callgrind 3.19 goes on collecting after the first profile.
    """
    out, script = folder / "callgrind.out", folder / "timer_callgrind.py"
    script.write_text(source)
    command = [
        *("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"),
        *("--dump-line=yes", "--dump-instr=yes", "--collect-atstart=no"),
        *(sys.executable, str(script)),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"Failed to collect callgrind profile:\n{done.stdout}{done.stderr}".rstrip())
    return folder / "callgrind.out.1"


def collect(task_spec, globals, *, number, repeats, collect_baseline, retain_out_file):
    """A CallgrindStats per repeat."""
    _check_commands()
    check_globals(globals)
    with tempfile.TemporaryDirectory(prefix="callgrind") as name:
        folder = pathlib.Path(name)

        def counted(statement):
            source = _script(task_spec, globals, folder, _repeated(statement, number))
            profile = _profile(source, folder)
            kept = profile.read_text() if retain_out_file else None
            return _counts(profile, True), _counts(profile, False), kept

        nothing = FunctionCounts((), True), FunctionCounts((), False), None
        baseline = counted("pass") if collect_baseline else nothing
        runs = [counted(task_spec.stmt) for _ in range(repeats)]
        return tuple(
            CallgrindStats(
                task_spec,
                number,
                built_with_debug_symbols=False,
                baseline_inclusive_stats=baseline[0],
                baseline_exclusive_stats=baseline[1],
                stmt_inclusive_stats=inclusive,
                stmt_exclusive_stats=exclusive,
                stmt_callgrind_out=kept,
            )
            for inclusive, exclusive, kept in runs
        )
