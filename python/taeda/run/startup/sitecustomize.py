"""Found by child processes of `taeda run` when they start: `import torch` gives Taeda there too."""

import importlib.util
import os
import sys


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    # Another Python is one for which this Taeda was not built.
    if os.environ.get("TAEDA_RUN") == sys.implementation.cache_tag:
        _load("_taeda_answer", os.path.join(os.path.dirname(here), "answer.py")).install()
    # The one that this file hides.
    own = sys.modules.pop("sitecustomize", None)
    hidden = importlib.util.find_spec("sitecustomize")
    if hidden is not None:
        importlib.import_module("sitecustomize")
    elif own is not None:
        sys.modules["sitecustomize"] = own


_answer()
