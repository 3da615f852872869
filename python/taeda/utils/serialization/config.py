"""Settings of `taeda.save` and `taeda.load`; `patch` changes one for a while.

from taeda.utils.serialization import config

config.load.mmap = True
with config.patch("save.storage_alignment", 4096):
    ...
"""

import contextlib
from mmap import MAP_PRIVATE


class load:
    """Of `load`."""

    mmap = False
    endianness = None
    mmap_flags = MAP_PRIVATE
    # Places of storages are computed from their sizes instead of read from the file's directory.
    calculate_storage_offsets = False
    # Checksums of tensors in a mapped file are verified, which reads all of it.
    check_mapped_crc32 = False


class save:
    """Of `save`."""

    compute_crc32 = True
    use_pinned_memory_for_d2h = False
    storage_alignment = 64


@contextlib.contextmanager
def patch(name, value):
    """A `with` block in which the setting "load.x" or "save.x" has another value."""
    part, _, own_name = name.partition(".")
    owner = {"load": load, "save": save}.get(part)
    if owner is None or own_name not in vars(owner):
        raise AttributeError(f"{__name__}.{name} does not exist")
    before = getattr(owner, own_name)
    setattr(owner, own_name, value)
    try:
        yield
    finally:
        setattr(owner, own_name, before)
