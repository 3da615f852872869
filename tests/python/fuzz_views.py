"""Random programs over views, in-place writes, modes, hooks and backward, run on two libraries.

`generate(seed)` gives a program: a list of statements over `t`, the library. `run(program, t)` gives
its trace: for each statement the exception it raised, and the state of every variable that changed
(values, version, flags, node, gradient), and what hooks saw. Two libraries agree if their traces
are equal. `shrink` drops statements while they still differ, and `script` prints what is left.

As a program: `python fuzz_views.py FIRST LAST` compares Taeda with PyTorch over a range of seeds and
prints one script for each kind of difference; `python fuzz_views.py --golden FILE COUNT` writes the
first programs with PyTorch's traces.
"""

import gzip
import json
import random
import sys
import warnings
from pathlib import Path

from fuzz_scope import Scope
from fuzz_view_statements import VIEW_STATEMENTS
from fuzz_write_statements import WRITE_STATEMENTS

# A program that begins with this has its state read at the end only: reading renews nodes of views.
QUIET = "pass  # quiet"


def generate(seed):
    """A program of 6 to 16 statements, the first of which make leaves."""
    rng = random.Random(seed)
    scope = Scope(rng)
    program = [QUIET] if rng.random() < 0.25 else []
    program += [scope.new_leaf() for _ in range(rng.choice((1, 2, 2)))]
    makers, weights = zip(*VIEW_STATEMENTS, *WRITE_STATEMENTS)
    while len(program) < rng.randint(6, 16):
        line = rng.choices(makers, weights)[0](scope)
        if line is not None:
            program.append(scope.in_mode(line))
    return program


# ---- running ----


def _number(x):
    return int(x) if x == x and abs(x) < 2**53 and x == int(x) else float(f"{x:.12g}")


def _numbers(nested):
    if isinstance(nested, list):
        return [_numbers(item) for item in nested]
    if isinstance(nested, complex):
        return [_number(nested.real), _number(nested.imag)]
    return _number(nested) if isinstance(nested, float) else nested


def _attempt(read):
    """What reading gives, or the exception."""
    try:
        return read()
    except Exception as error:
        return _failure(error)


def _failure(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _node_name(node):
    """The type of a node; its number counts overloads, of which a library may have others."""
    return None if node is None else type(node).__name__.rstrip("0123456789")


FLAGS = {
    "r": lambda v: v.requires_grad,
    "l": lambda v: v.is_leaf,
    "t": lambda v: v.retains_grad,
    "i": lambda v: v.is_inference(),
}


def _state(v):
    """Everything compared about a tensor, in a form that JSON keeps."""
    flags = _attempt(lambda: "".join(c for c, read in FLAGS.items() if read(v)))
    node = _attempt(lambda: _node_name(v.grad_fn))
    grad = _attempt(lambda: None if v.grad is None else _numbers(v.grad.tolist()))
    version = _attempt(lambda: v._version)
    return [_attempt(lambda: _numbers(v.tolist())), version, flags, node, grad]


def run(program, t):
    """The trace of a program on a library: [exception or None, changed states, hook calls]."""
    log = []

    def hook(name, factor=None):
        """A hook that logs what it sees, and scales it where a factor is given."""

        def function(value, *rest):
            seen = value.grad if rest == ("leaf",) else value
            log.append([name, None if seen is None else _numbers(seen.tolist())])
            return None if factor is None else value * factor

        return function

    def leaf_hook(name):
        return lambda leaf: hook(name)(leaf, "leaf")

    def node_hook(name):
        return lambda inputs, outputs: log.append([name, _gradients(inputs), _gradients(outputs)])

    def node_prehook(name):
        return lambda outputs: log.append([name, _gradients(outputs)])

    space = {"t": t, "hook": hook, "leaf_hook": leaf_hook}
    space |= {"node_hook": node_hook, "node_prehook": node_prehook}
    trace, last, known, is_quiet = [], {}, set(), QUIET in program
    with warnings.catch_warnings(), t.set_grad_enabled(True):
        warnings.simplefilter("ignore")
        for i, line in enumerate(program):
            failure = None
            try:
                exec(line, space)
            except Exception as error:
                failure = _failure(error)
            if "autograd.grad(" not in line:
                _forget_own_writes(t, space, known)
            known.update(space)
            is_read = i == len(program) - 1 or not is_quiet
            states = _states(t, space) if is_read else last
            changed = {name: state for name, state in states.items() if last.get(name) != state}
            last = states
            if "INTERNAL ASSERT FAILED" in str((failure, changed)):
                break  # a bug of the library's: there is nothing to compare with from here on
            trace.append([failure, changed, log[:]])
            log.clear()
    return trace


def _forget_own_writes(t, space, known):
    """Sets versions of new results to zero where they hold only what the operator itself wrote.

    PyTorch counts the writes of its kernels to their results where an argument is an inference
    tensor (a clone then has version 1), since no autograd kernel stands before them.
    """
    set_versions = getattr(getattr(t._C, "_autograd", None), "_unsafe_set_version_counter", None)
    tensors = {n: v for n, v in space.items() if n[0] == "v" and isinstance(v, t.Tensor)}
    for name in tensors.keys() - known if set_versions else ():
        v = tensors[name]
        is_alone = all(
            w is v or w.untyped_storage().data_ptr() != v.untyped_storage().data_ptr()
            for w in tensors.values()
        )
        if (
            is_alone
            and not v.is_inference()
            and v._base is None
            and _attempt(lambda v=v: v._version) == 1
        ):
            set_versions((v,), (0,))


def _gradients(gradients):
    return [None if g is None else _numbers(g.tolist()) for g in gradients]


def _states(t, space):
    return {
        name: _state(value)
        for name, value in space.items()
        if name[0] == "v" and isinstance(value, t.Tensor)
    }


# ---- comparing ----


def first_difference(ours, theirs):
    """The position of the first statement whose outcomes differ, or None."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if not _is_same_step(a, b):
            return i
    return None


def _is_same_step(ours, theirs):
    if not is_same_failure(ours[0], theirs[0]) or ours[2] != theirs[2]:
        return False
    if ours[1].keys() != theirs[1].keys():
        return False
    return all(_is_same_state(ours[1][name], theirs[1][name]) for name in ours[1])


def _is_same_state(ours, theirs):
    return all(a == b or is_same_failure(a, b) for a, b in zip(ours, theirs))


def is_same_failure(ours, theirs):
    """Equal, or exceptions of one type where our message begins with the other's."""
    if ours == theirs:
        return True
    if not (isinstance(ours, str) and isinstance(theirs, str)) or "Error: " not in theirs:
        return False
    return ours.startswith(theirs.rstrip("."))


def differs(program, t, reference):
    """Whether the libraries differ on the program."""
    return first_difference(run(program, t), run(program, reference)) is not None


def shrink(program, still_differs):
    """Drops statements, last first, as long as the difference stays."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for i in reversed(range(len(program))):
            shorter = program[:i] + program[i + 1 :]
            if still_differs(shorter):
                program, is_smaller = shorter, True
    return program


def script(program):
    """The program as a script that takes the library's name."""
    lines = [
        "import importlib, sys",
        't = importlib.import_module(sys.argv[1] if sys.argv[1:] else "taeda")',
        "def hook(name, factor=None):",
        "    return lambda g: print(name, g) if factor is None else (print(name, g), g * factor)[1]",
        "def leaf_hook(name):",
        "    return lambda leaf: print(name, leaf.grad)",
        "def node_hook(name):",
        "    return lambda *gradients: print(name, *gradients)",
        "node_prehook = node_hook",
        *program,
    ]
    return "\n".join(lines)


def report(program, t, reference):
    """The program as a script, and where the traces of two libraries part."""
    return explain(program, run(program, t), run(program, reference))


def explain(program, ours, theirs):
    """The program as a script, and where two traces part."""
    i = first_difference(ours, theirs)
    lines = [script(program), "", f"# differs after: {program[i]}"]
    for title, step, other in (("ours", ours[i], theirs[i]), ("expected", theirs[i], ours[i])):
        failure, states, log = step
        lines.append(f"#   {title}: {failure or 'ok'}, hooks {log}")
        lines += [f"#     {n}: {state}" for n, state in states.items() if other[1].get(n) != state]
    return "\n".join(lines)


def kind_of_difference(ours, theirs):
    """What differs at the first statement that does, to tell one cause from another."""
    i = first_difference(ours, theirs)
    (failure, states, log), (other_failure, other_states, other_log) = ours[i], theirs[i]
    kinds = (
        {str((failure, other_failure))} if not is_same_failure(failure, other_failure) else set()
    )
    for name in states.keys() | other_states.keys():
        a, b = states.get(name, [None] * 5), other_states.get(name, [None] * 5)
        fields = [j for j in range(5) if not (a[j] == b[j] or is_same_failure(a[j], b[j]))]
        # Flags and nodes tell causes apart; values, versions and gradients only that they differ.
        kinds |= {f"{j}: {a[j]} {b[j]}" if j in (2, 3) else str(j) for j in fields}
    return str((sorted(kinds), log == other_log))


def find_differences(seeds, t, reference):
    """The programs on which the libraries differ, shrunk: {kind: [(seed, program)]}."""
    found = {}
    for seed in seeds:
        program = generate(seed)
        if differs(program, t, reference):
            program = shrink(program, lambda p: differs(p, t, reference))
            kind = kind_of_difference(run(program, t), run(program, reference))
            found.setdefault(kind, []).append((seed, program))
    return found


# ---- golden traces ----


def write_golden(path, count, reference):
    """Writes the first programs with the reference's traces."""
    programs = [(seed, generate(seed)) for seed in range(count)]
    golden = [(seed, program, run(program, reference)) for seed, program in programs]
    text = json.dumps(golden, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def read_golden(path):
    """[[seed, program, trace]]."""
    return json.loads(gzip.decompress(path.read_bytes()))


def main(arguments):
    import torch

    import taeda

    if arguments[0] == "--golden":
        write_golden(Path(arguments[1]), int(arguments[2]), torch)
        return
    found = find_differences(range(int(arguments[0]), int(arguments[1])), taeda, torch)
    for programs in found.values():
        seed, program = min(programs, key=lambda item: len(item[1]))
        print(f"# ---- seed {seed}, and {len(programs) - 1} more of its kind")
        print(report(program, taeda, torch), end="\n\n")
    print(f"{sum(map(len, found.values()))} programs differ, in {len(found)} kinds")


if __name__ == "__main__":
    main(sys.argv[1:])
