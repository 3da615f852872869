"""What the compiler prints while it works: TAEDA_LOGS, or `set_logs` in a program."""

import os
import sys
import warnings

__all__ = ["NAMES", "is_wanted", "print_log", "set_logs", "wanted"]

# In the order of the stages.
NAMES = (
    "graph_breaks",
    "recompiles",
    "guards",
    "graph",
    "graph_code",
    "aot",
    "fusion",
    "code",
    "memory",
    "timing",
)
# PyTorch's names for one or for several.
_OTHER_NAMES = {
    "all": NAMES,
    "dynamo": ("graph_breaks", "recompiles", "guards", "graph_code"),
    "inductor": ("fusion", "code", "memory", "timing"),
    "recompiles_verbose": ("recompiles",),
    "aot_graphs": ("aot",),
    "aot_joint_graph": ("aot",),
    "output_code": ("code",),
    "kernel_code": ("code",),
    "schedule": ("fusion",),
}
_VARIABLE = "TAEDA_LOGS"
_set = set()


def _of(name):
    """The logs of a name; none where there is no such name."""
    return (name,) if name in NAMES else _OTHER_NAMES.get(name, ())


def _refusal(name):
    return ValueError(f"{_VARIABLE} has no stage {name!r}; there are {', '.join(NAMES)}, and all")


def _read(text, is_known):
    """The logs that a variable names: "recompiles,+dynamo,-guards"."""
    found = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        name = part.lstrip("+-")
        if not _of(name):
            if is_known:
                raise _refusal(name)
            continue
        (found.difference_update if part.startswith("-") else found.update)(_of(name))
    return found


def wanted():
    """The logs that are wanted, in the order of the stages.

    They are those of TAEDA_LOGS, else of TORCH_LOGS, whose other names are passed over, else of
    `set_logs`.
    """
    if text := os.environ.get(_VARIABLE, ""):
        found = _read(text, True)
    elif text := os.environ.get("TORCH_LOGS", ""):
        found = _read(text, False)
    else:
        found = _set
    return [name for name in NAMES if name in found]


def is_wanted(name):
    return name in wanted()


def set_logs(*, modules=None, **logs):
    """Says what the compiler prints to the standard error stream from now on.

    A log is named with True, or with a level of `logging` up to INFO; what is not named is not
    printed. `modules` is a dict of the same kind. Where TAEDA_LOGS is set it decides alone.
    """
    if os.environ.get(_VARIABLE, ""):
        warnings.warn(f"{_VARIABLE} is set: the call of set_logs is ignored", stacklevel=2)
        return
    import logging

    found = set()
    for name, level in {**logs, **(modules or {})}.items():
        name = name.rpartition(".")[2].lstrip("_")
        if not _of(name):
            raise _refusal(name)
        if level is None:
            continue
        if not isinstance(level, int):
            raise ValueError(f"{name} is True, False or a level of logging, not {level!r}")
        if level is True or (level is not False and level <= logging.INFO):
            found.update(_of(name))
    _set.clear()
    _set.update(found)


def print_log(name, text):
    print(f"[{name}] {text}", file=sys.stderr, flush=True)
