"""Guards of compiled functions for people and for filters: what is checked before a call."""

import dataclasses
import logging
import re
import typing

from taeda.nn import Module, Parameter

__all__ = [
    "Guard",
    "GuardFail",
    "GuardFilterEntry",
    "as_filter",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "read_guards",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
]


class GuardFail(typing.NamedTuple):
    """A guard that failed, and the code of the function that is compiled again."""

    reason: str
    orig_code: object


@dataclasses.dataclass(frozen=True)
class GuardPath:
    """How a program reaches the value of a guard."""

    name: str
    is_in_module: bool = False
    is_in_package_module: bool = False

    def is_unspecialized_nn_module(self):
        """Whether it is a module, or leads through one."""
        return self.is_in_module

    def is_unspecialized_builtin_nn_module(self):
        """Whether it is a module of taeda.nn, or leads through one."""
        return self.is_in_package_module


@dataclasses.dataclass(frozen=True)
class Guard:
    """What is checked of one value before a compiled function is called."""

    originating_source: GuardPath
    guard_type: str
    text: str

    @property
    def name(self):
        return self.originating_source.name

    @property
    def source(self):
        return self.originating_source

    @property
    def guard_types(self):
        return [self.guard_type]

    @property
    def code_list(self):
        return [self.text]

    def create_fn_name(self):
        """PyTorch's name of the kind of check."""
        return self.guard_type

    def __str__(self):
        return f"{self.text}  [{self.guard_type}]"


@dataclasses.dataclass(frozen=True)
class GuardFilterEntry:
    """A guard as filters see it."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple
    is_global: bool
    orig_guard: Guard


def without_scope(name):
    """The name of a source as the program writes it: x, where guards have L['x']."""
    return re.sub(r"L\['(\w+)'\]", r"\1", name)


def tell_failure(function, text, code):
    """Calls guard_fail_fn of a program. What it raises is logged: the call goes on, as in PyTorch.

    Locals are named as the program names them: x, where guards say L['x'].
    """
    try:
        function(GuardFail(without_scope(text), code))
    except Exception:
        logging.getLogger("taeda._dynamo").exception("Failure in guard_fail_fn callback")


# Kinds whose object is the value that the program had.
_OF_VALUES = ("TENSOR_MATCH", "CONSTANT_MATCH", "ID_MATCH")


def _module_sources(rows):
    """The sources that are modules, and those of them that are modules of the package."""
    modules, own = set(), set()
    for kind, _, _, sources, value in rows:
        if kind == "TYPE_MATCH" and isinstance(value, type) and issubclass(value, Module):
            modules.add(sources[0])
            if value.__module__.startswith("taeda.nn."):
                own.add(sources[0])
        elif kind == "EMPTY_NN_MODULE_HOOKS_DICT":
            modules.add(sources[0])
    return modules, own


def _entries(rows):
    modules, own = _module_sources(rows)
    for kind, name, text, sources, value in rows:
        path = GuardPath(name, not modules.isdisjoint(sources), not own.isdisjoint(sources))
        has_value = kind in _OF_VALUES and value is not None
        yield GuardFilterEntry(
            name=without_scope(name),
            has_value=has_value,
            value=value if has_value else None,
            guard_type=kind,
            derived_guard_types=(kind,),
            is_global=name.startswith("G["),
            orig_guard=Guard(path, kind, text),
        )


def read_guards(rows):
    """The guards of one compiled version, as its callable lists them."""
    return [entry.orig_guard for entry in _entries(rows) if entry.orig_guard.text]


def as_filter(filter_fn=None, export_fn=None):
    """What a capture asks: from its list of guards to a list of bools. None where nothing asks."""
    if filter_fn is None and export_fn is None:
        return None

    def ask(rows):
        entries = list(_entries(rows))
        wanted = [True] * len(entries) if filter_fn is None else list(filter_fn(entries))
        if export_fn is not None:
            kept = zip(entries, wanted, strict=True)
            export_fn([e.orig_guard for e, keep in kept if keep and e.orig_guard.text])
        return wanted

    return ask


# ---- filters ----


def keep_portable_guards_unsafe(guard_entries):
    """Keeps what can be checked without the program: tensors of arguments, sizes, modes."""
    return [
        entry.guard_type in ("GLOBAL_STATE", "SHAPE_ENV")
        or (entry.guard_type == "TENSOR_MATCH" and not entry.is_global)
        for entry in guard_entries
    ]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries):
    """Drops guards on modules of taeda.nn, which the program then must not change."""
    return [
        not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries
    ]


def skip_guard_on_all_nn_modules_unsafe(guard_entries):
    """Drops guards on modules, which the program then must not change."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """Keeps guards on tensors, parameters only where that is asked for."""
    return [
        entry.guard_type == "TENSOR_MATCH"
        and (keep_parameters or not isinstance(entry.value, Parameter))
        for entry in guard_entries
    ]


def skip_guard_on_globals_unsafe(guard_entries):
    """Drops guards on globals, which the program then must not change."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries):
    """Drops every guard: the first compiled version is taken for all calls."""
    return [False for _ in guard_entries]
