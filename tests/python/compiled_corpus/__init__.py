"""Small programs, each run plainly and compiled."""

import importlib
import pkgutil

from compiled_case import CASES

PARTS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(parts=None):
    """The programs of the parts named, or of all."""
    for part in parts or PARTS:
        importlib.import_module(f"compiled_corpus.{part}")
    return CASES
