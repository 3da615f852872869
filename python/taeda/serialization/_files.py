"""Paths and file objects, opened for reading and writing."""

import io
import os

from taeda import _C
from taeda.serialization._settings import _get_storage_alignment, get_crc32_options

_ZIP_START = b"PK\x03\x04"


def _is_path(name_or_buffer):
    return isinstance(name_or_buffer, (str, os.PathLike))


class _opener:
    """A `with` block over something open."""

    def __init__(self, file_like):
        self.file_like = file_like

    def __enter__(self):
        return self.file_like

    def __exit__(self, *args):
        pass


class _open_file(_opener):
    def __init__(self, name, mode):
        super().__init__(open(name, mode))  # noqa: SIM115

    def __exit__(self, *args):
        self.file_like.close()


class _open_buffer_reader(_opener):
    def __init__(self, buffer):
        super().__init__(buffer)
        _check_seekable(buffer)


class _open_buffer_writer(_opener):
    def __exit__(self, *args):
        self.file_like.flush()


def _open_file_like(name_or_buffer, mode):
    if _is_path(name_or_buffer):
        return _open_file(name_or_buffer, mode)
    if "w" in mode:
        return _open_buffer_writer(name_or_buffer)
    if "r" in mode:
        return _open_buffer_reader(name_or_buffer)
    raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


class _open_zipfile_reader(_opener):
    def __init__(self, name_or_buffer):
        super().__init__(_C.PyTorchFileReader(name_or_buffer))


class _open_zipfile_writer_file(_opener):
    """A file that appears under its name when the block ends, and does not when it fails."""

    def __init__(self, name):
        super().__init__(_C.PyTorchFileWriter(name, get_crc32_options(), _get_storage_alignment()))

    def __exit__(self, exc_type, *args):
        if exc_type is None:
            self.file_like.write_end_of_file()
        else:
            self.file_like._give_up()


class _open_zipfile_writer_buffer(_opener):
    def __init__(self, buffer):
        if not callable(getattr(buffer, "write", None)):
            message = f"Buffer of {str(type(buffer)).strip('<>')} has no callable attribute 'write'"
            raise (TypeError if hasattr(buffer, "write") else AttributeError)(message)
        self.buffer = buffer
        super().__init__(
            _C.PyTorchFileWriter(buffer, get_crc32_options(), _get_storage_alignment())
        )

    def __exit__(self, exc_type, *args):
        if exc_type is None:
            self.file_like.write_end_of_file()
            self.buffer.flush()


def _open_zipfile_writer(name_or_buffer):
    if _is_path(name_or_buffer):
        return _open_zipfile_writer_file(name_or_buffer)
    return _open_zipfile_writer_buffer(name_or_buffer)


def _is_zipfile(f):
    """Whether an archive starts at the file's position."""
    start = f.tell()
    first = f.read(len(_ZIP_START))
    f.seek(start)
    return first == _ZIP_START


def _is_torchscript_zip(zip_file):
    return "constants.pkl" in zip_file.get_all_records()


def _check_seekable(f):
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if not any(word in str(error) for word in ("seek", "tell")):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    return True


def _is_real_file(f):
    """Whether the system reads it as it is: it has a descriptor and is not decompressed."""
    if getattr(f, "__module__", None) == "gzip":
        return False
    try:
        return f.fileno() >= 0
    except (io.UnsupportedOperation, AttributeError):
        return False


def name_of(f):
    """What messages call a path or an open file."""
    if _is_path(f):
        return os.fsdecode(f)
    name = getattr(f, "name", None)
    return name if isinstance(name, str) else "the file object"


def add_place(error, place):
    """Adds where in a file an error came up to its words, or to its notes."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]} ({place})",)
    if place not in str(error):  # which is not made of the arguments
        error.add_note(place)


class located:
    """Errors inside the block say where the file was; the file starts at byte `start` of `name`."""

    def __init__(self, file, name, start=0):
        self.file, self.name, self.start = file, name, start

    def __enter__(self):
        return self.file

    def __exit__(self, exc_type, error, traceback):
        if isinstance(error, Exception):
            add_place(error, f"before byte {self.start + self.file.tell()} of {self.name}")


def _check_save_filelike(f):
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
