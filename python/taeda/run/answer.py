"""Answers `import torch` with Taeda's modules; see Note [Answering torch].

Every child process of `taeda run` executes this file when it starts, so that it imports nothing
that the interpreter has not loaded by itself.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

ModuleType = type(sys)

# The version of PyTorch whose names and semantics Taeda has.
PYTORCH_VERSION = "2.13.0"

# The folder that holds the package.
PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What PyTorch's distribution installs beside `torch`, and where Taeda has it.
_ROOTS = {"torch": "taeda", "functorch": "taeda.functorch", "torchgen": None}


def _own_name(name):
    """Taeda's name of a module that is asked for by PyTorch's, or None."""
    root, dot, rest = name.partition(".")
    own = _ROOTS[root]
    return own and own + dot + rest


def _torch_name(own):
    return "torch" + own[len("taeda") :]


def _is_own(name):
    return name == "taeda" or name.startswith("taeda.")


def _rename_classes(module):
    for value in list(vars(module).values()):
        if isinstance(value, type) and _is_own(value.__module__ or ""):
            value.__module__ = _torch_name(value.__module__)


def _adopt_package(package):
    """Gives what `import taeda` has loaded PyTorch's names and numbers."""
    package.__version__ = package.torch_version.TorchVersion(PYTORCH_VERSION)
    if "TAEDA_RANDOM_ENGINE" not in os.environ:
        package._C._set_default_engine("mt19937")
    for name, module in list(sys.modules.items()):
        if _is_own(name) and isinstance(module, ModuleType):
            sys.modules.setdefault(_torch_name(name), module)
            _rename_classes(module)


class _OwnLoader(SourceFileLoader):
    """Loads a file of Taeda's, and lets its module be found by both names from the start."""

    def exec_module(self, module):
        name = _torch_name(module.__name__)
        sys.modules[name] = module
        try:
            super().exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        if module.__name__ == "taeda":
            _adopt_package(module)
        else:
            _rename_classes(module)


class _SecondName:
    """Hands out a module that is loaded; its spec stays that of its file."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


class Finder:
    """Finds `torch` and its modules, and Taeda's own, so that each has both names."""

    def find_spec(self, fullname, path=None, target=None):
        if _is_own(fullname):
            return self._own_spec(fullname, path)
        if fullname.partition(".")[0] not in _ROOTS:
            return None
        module = self._module(fullname)
        return ModuleSpec(fullname, _SecondName(module), is_package=hasattr(module, "__path__"))

    def _own_spec(self, fullname, path):
        spec = PathFinder.find_spec(fullname, path)
        if spec is None and fullname == "taeda":
            spec = PathFinder.find_spec(fullname, [PACKAGES])
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _OwnLoader(spec.loader.name, spec.loader.path)
        return spec

    def _module(self, fullname):
        own = _own_name(fullname)
        try:
            if own is not None:
                return import_module(own)
        except ModuleNotFoundError as error:
            if error.name is None or not (own == error.name or own.startswith(f"{error.name}.")):
                raise
        # A module that the extension made, not a file.
        parent, _, leaf = fullname.rpartition(".")
        made = vars(sys.modules[parent]).get(leaf) if parent in sys.modules else None
        if isinstance(made, ModuleType):
            return made
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: Taeda, which answers for PyTorch, does not have it",
            name=fullname,
        )

    def find_distributions(self, context=None):
        """PyTorch's, for packages that ask importlib.metadata for its version."""
        name = context.name if context is not None else None
        if name is not None and name.lower() != "torch":
            return []
        return [import_module("taeda.run.distribution").Distribution(PYTORCH_VERSION)]


def install():
    """From here on `import torch` gives Taeda, in this process."""
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not sys.modules.get("taeda"):
        raise RuntimeError("PyTorch is loaded in this process: install before the first import")
    sys.meta_path.insert(0, Finder())
    if "taeda" in sys.modules:
        _adopt_package(sys.modules["taeda"])
