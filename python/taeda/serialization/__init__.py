"""Objects in files: `save` and `load`, in PyTorch's formats."""

import copyreg
import io

import taeda
from taeda.serialization._container_source import SourceChangeWarning
from taeda.serialization._files import (
    _check_save_filelike,
    _check_seekable,
    _is_path,
    _is_torchscript_zip,
    _is_zipfile,
    _open_file_like,
    _open_zipfile_reader,
    _open_zipfile_writer,
)
from taeda.serialization._load import load, load_archive
from taeda.serialization._locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
    validate_hpu_device,
)
from taeda.serialization._safe_globals import (
    _get_layout,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from taeda.serialization._save import check_module_version_greater_or_equal, save
from taeda.serialization._settings import (
    DEFAULT_PROTOCOL,
    LoadEndianness,
    _serialization_tls,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from taeda.storage import StorageType

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_archive",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
    "validate_hpu_device",
]

# Files have layouts as calls.
copyreg.pickle(taeda.layout, lambda layout: (_get_layout, (str(layout),)))


def get_unsafe_globals_in_checkpoint(f):
    """The names in a checkpoint that `load(weights_only=True)` would refuse."""
    from taeda import _weights_only_unpickler as names

    with _open_file_like(f, "rb") as opened:
        if not _is_zipfile(opened):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        with _open_zipfile_reader(opened) as zip_file:
            if _is_torchscript_zip(zip_file):
                raise ValueError(
                    "Expected input to be a checkpoint returned by torch.save but got a "
                    "torchscript checkpoint"
                )
            pickle = io.BytesIO(zip_file.get_record("data.pkl"))
    safe = {*names._get_allowed_globals(), *names._get_user_allowed_globals()}
    return list(names.get_globals_in_pkl(pickle) - safe)
