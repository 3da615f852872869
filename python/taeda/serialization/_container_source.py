"""The source of a module's class, which the older stream keeps to tell when it has changed."""

import difflib
import inspect
import warnings

import taeda
from taeda._own_names import own_module


class SourceChangeWarning(Warning):
    """The source of a class is not what it was when a model was saved."""


def _warn_of_absence(cls):
    warnings.warn(
        f"Couldn't retrieve source code for container of type {cls.__name__}. It won't be checked "
        "for correctness upon loading.",
        stacklevel=4,
    )


def _is_own(cls):
    return own_module(cls).partition(".")[0] == "taeda"


def source_of(cls):
    """(file, source) of a class; (None, None), with a warning, where there is none.

    The package's own classes have none: PyTorch's have another.
    """
    if _is_own(cls):
        return None, None
    try:
        return inspect.getsourcefile(cls), inspect.getsource(cls)
    except (OSError, TypeError):
        _warn_of_absence(cls)
        return None, None


def check_source(cls, source_file, original):
    """Warns where the source of the class is another than it was."""
    if _is_own(cls):
        return
    try:
        current = inspect.getsource(cls)
    except (OSError, TypeError):
        _warn_of_absence(cls)
        return
    if current == original:
        return
    if getattr(cls, "dump_patches", False):
        message = _save_patch(cls.__name__ + ".patch", source_file, current, original)
    else:
        message = (
            "you can retrieve the original source code by accessing the object's source attribute "
            "or set `torch.nn.Module.dump_patches = True` and use the patch tool to revert the "
            "changes."
        )
    warnings.warn(
        f"source code of class '{taeda.typename(cls)}' has changed. {message}",
        SourceChangeWarning,
        stacklevel=4,
    )


def _save_patch(name, source_file, current, original):
    lines = "\n".join(
        difflib.unified_diff(
            current.split("\n"), original.split("\n"), source_file, source_file, lineterm=""
        )
    )
    try:
        with open(name, "a+") as file:
            file.seek(0)
            there = file.read()
            if there and there != lines:
                raise OSError("another patch is there")
            if not there:
                file.write(lines)
    except OSError:
        return (
            f"Tried to save a patch, but couldn't create a writable file {name}. Make sure it "
            "doesn't exist and your working directory is writable."
        )
    return f"Saved a reverse patch to {name}. Run `patch -p0 < {name}` to revert your changes."
