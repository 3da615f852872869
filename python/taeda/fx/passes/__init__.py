"""Rewrites of graphs, and what looks at graphs; each module is imported when it is asked for."""

from importlib import import_module as _import_module


def __getattr__(name):
    if not name.startswith("__"):
        try:
            return _import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
