"""Names in files are PyTorch's: `torch.nn.Linear` in a pickle is `taeda.nn.Linear` here."""

import sys

import taeda
from taeda import _C

# Modules that PyTorch renamed.
_MOVED = {"torch.tensor": "torch._tensor"}


def to_file(name):
    """The name that a file has for a module of Taeda's."""
    is_own = name == "taeda" or name.startswith("taeda.")
    return "torch" + name[len("taeda") :] if is_own else name


def pickle_for_file(pickle):
    """A pickle with PyTorch's names in place of Taeda's."""
    return _C._move_pickle_globals(pickle, "taeda", "torch")


def find_class(find, module, name):
    """What `find(module, name)` finds under the names of this package.

    Where `torch` is imported and is Taeda, its modules that lie outside the package count too.
    """
    module = _MOVED.get(module, module)
    if module != "torch" and not module.startswith("torch."):
        return find(module, name)
    try:
        return find("taeda" + module[len("torch") :], name)
    except (AttributeError, ModuleNotFoundError):
        if sys.modules.get("torch") is taeda:
            return find(module, name)
        if lacks(module, name):
            raise NotImplementedError(
                f"the file needs {module}.{name}, which Taeda does not have"
            ) from None
        raise


def lacks(module, name):
    """Whether a dtype, a storage or a function of PyTorch's package itself is not in Taeda."""
    return module == "torch" and name not in dir(taeda)
