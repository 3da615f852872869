"""`load`: which format a file has, and whether it may do more than hold weights."""

import os
import pickle
import re
import warnings

import taeda
from taeda import _C
from taeda.serialization import _legacy, _zip
from taeda.serialization._files import (
    _is_path,
    _is_torchscript_zip,
    _is_zipfile,
    _open_file_like,
    _open_zipfile_reader,
    name_of,
)
from taeda.serialization._save import _check_dill_version
from taeda.serialization._settings import UNSAFE_MESSAGE
from taeda.utils.serialization import config

_TRUE = ("1", "y", "yes", "true")


def load(
    f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args
):
    """Reads an object that `save`, or PyTorch's `torch.save`, wrote.

    f: a path, or an object with `read`, `readline`, `seek` and `tell`.
    map_location: where storages go: a device or its name, {tag: name}, or a function of a storage
        on the CPU and its tag that gives a storage or None; where they were unless given.
    weights_only: builds tensors, containers, numbers, texts and the classes that
        `taeda.serialization.add_safe_globals` was given, and calls nothing else; the default. With
        False a file can run any code: do it only with files that you trust.
    mmap: memory of tensors is the file's; bytes are read when they are used. `f` must be a path.
    pickle_load_args: for the unpickler; `encoding` is that of texts of Python 2.
    """
    weights_only, pickle_module = _restriction(weights_only, pickle_module)
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    mmap = config.load.mmap if mmap is None else mmap
    _check_dill_version(pickle_module)
    pickle_load_args.setdefault("encoding", "utf-8")
    if _is_path(f) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    with _open_file_like(f, "rb") as opened:
        try:
            if _is_zipfile(opened):
                return _load_zip(f, opened, map_location, pickle_module, mmap, pickle_load_args)
            if mmap:
                shown = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({shown}"
                    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with "
                    f"this option in order to use mmap. ({name_of(f)} has no archive at byte 0)"
                )
            return _legacy.load(opened, map_location, pickle_module, **pickle_load_args)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_advice(str(error))) from None


def load_archive(f, *, mmap=False):
    """The members of an archive that C++ wrote with `torch::save` or `taeda::save`, as dicts.

    Modules inside are dicts inside. Files of `save` with plain containers are read as well; no
    Python class is made, and nothing is called. `f` is a path or the bytes of a file.
    """
    return _C._load_archive(f, mmap)


def _restriction(weights_only, pickle_module):
    """(whether only weights are loaded, the module that unpickles otherwise)"""
    is_given = weights_only is not None
    if not is_given:
        weights_only = pickle_module is None
    must = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    must_not = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if must and must_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if must:
        weights_only = True
    elif must_not and not is_given:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        weights_only = False
    if not weights_only:
        return False, pickle if pickle_module is None else pickle_module
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return True, None


def _load_zip(f, opened, map_location, pickle_module, mmap, pickle_load_args):
    # The system reads a path faster than Python reads its file object.
    with _open_zipfile_reader(f if _is_path(f) else opened) as zip_file:
        if _is_torchscript_zip(zip_file):
            _refuse_script(pickle_module)
        if mmap and not _is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        path = os.fspath(f) if mmap else None
        return _zip.load(zip_file, map_location, pickle_module, path, **pickle_load_args)


def _refuse_script(pickle_module):
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to "
        "'torch.jit.load' (call 'torch.jit.load' directly to silence this warning)",
        UserWarning,
        stacklevel=4,
    )
    if pickle_module is None:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to "
            "``torch.load``. " + UNSAFE_MESSAGE
        )
    raise NotImplementedError(
        "the file is a TorchScript archive, which Taeda does not run; "
        "taeda.serialization.load_archive reads the tensors of one that C++ wrote"
    )


def _load_safetensors(path, map_location):
    from taeda.utils import safetensors

    if map_location is not None and not isinstance(map_location, (str, bytes, taeda.device)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device "
            "string or torch.device instead."
        )
    return safetensors.load_file(path, device=map_location or "cpu")


def _advice(message):
    """PyTorch's words around what the restricted reader said."""
    documentation = (
        "\n\nCheck the documentation of torch.load to learn more about types accepted by default "
        "with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
    )
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` "
            "please check the recommended steps in the following error message.\n\t"
            f"WeightsUnpickler error: {message}{documentation}"
        )
    if re.search(r"(\S+) must be (\S+) to load", message):
        return f"Weights only load failed. {message}\n {UNSAFE_MESSAGE}\n"
    advice = f"Weights only load failed. {UNSAFE_MESSAGE}\n"
    if not re.search(r"whose module (\S+) is blocked", message):
        advice += (
            "Please file an issue with the following so that we can make `weights_only=True` "
            "compatible with your use case: WeightsUnpickler error: "
        )
    return f"{advice}\n\n{message}{documentation}"
