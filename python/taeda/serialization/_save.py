"""`save`, and what it asks of the module that pickles."""

import os
import pickle
import warnings

from taeda import _C
from taeda.serialization import _legacy, _zip
from taeda.serialization._files import (
    _check_save_filelike,
    _is_path,
    _open_file_like,
    _open_zipfile_writer,
)
from taeda.serialization._settings import DEFAULT_PROTOCOL, _serialization_tls


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Writes an object to a file, which PyTorch's `torch.load` reads as well as `load`.

    obj: anything that pickles: tensors, containers of them, state dicts, whole modules. Tensors
        that share memory still do after loading.
    f: a path, or an object with `write` and `flush`. A file appears under its path when all of it
        is on the disk; until then, and after a failure, what was there stays.
    pickle_module, pickle_protocol: what pickles the object, and how.
    """
    _check_dill_version(pickle_module)
    _check_save_filelike(f)
    if _is_path(f):
        f = os.fspath(f)
    if _use_new_zipfile_serialization:
        with _open_zipfile_writer(f) as zip_file:
            _zip.save(obj, zip_file, pickle_module, pickle_protocol, _disable_byteorder_record)
        return
    if _serialization_tls.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    with _whole_file(f) if _is_path(f) else _open_file_like(f, "wb") as opened:
        _legacy.save(obj, opened, pickle_module, pickle_protocol)


class _whole_file:
    """A file for writing that gets its name when the block ends, and none when it fails."""

    def __init__(self, path):
        self.path = os.path.realpath(path)
        self.temporary = None  # what is there and no file is written to as it is

    def __enter__(self):
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            self.file = open(self.path, "wb")
        else:
            descriptor, self.temporary = _C._open_partial_file(self.path)
            self.file = os.fdopen(descriptor, "wb")
        return self.file

    def __exit__(self, exc_type, *args):
        try:
            if exc_type is None:
                self.file.flush()
                if self.temporary:
                    os.fsync(self.file.fileno())
                    os.replace(self.temporary, self.path)
                    self.temporary = None
        finally:
            if self.temporary:
                os.unlink(self.temporary)
            self.file.close()


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether a module's version is at least the given one."""
    try:
        words = module.__version__.split(".")
        version = tuple(type(part)(words[i]) for i, part in enumerate(req_version_tuple))
        return version >= tuple(req_version_tuple)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True


def _check_dill_version(pickle_module):
    if pickle_module is None or getattr(pickle_module, "__name__", "") != "dill":
        return
    required = (0, 3, 1)
    if not check_module_version_greater_or_equal(pickle_module, required, False):
        raise ValueError(
            f"'torch' supports dill >= {'.'.join(map(str, required))}, but you have dill "
            f"{pickle_module.__version__}. Please upgrade dill or switch to 'pickle'"
        )
