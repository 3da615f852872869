"""Batches between a worker and the main process: a pickle, whose tensors lie in an arena.

Note [Transport of batches]: each worker has an arena (taeda/core/shared_arena.h), one stretch of
shared memory for all batches of its life. Tensors are collated into blocks of it, or copied there,
and the pickle holds places of blocks; the main process makes tensors over the same memory. When they
are gone the worker uses the blocks again. So a tensor costs no descriptor, no name, no system call
and, once the arena is warm, no page fault. A pickle that is itself large lies in a block too.

A tensor that is a small part of its storage is copied alone; tensors that share a storage share it
on the other side otherwise.
"""

import io
import itertools
import pickle
from multiprocessing import reduction

from taeda import _C
from taeda._C._multiprocessing import SharedArena
from taeda._storage_copy import tensor_over
from taeda.multiprocessing import reductions
from taeda.nn import Parameter
from taeda.storage import TypedStorage

__all__ = ["ArenaReader", "ArenaWriter", "empty_in"]

_LARGEST_INLINE = 1 << 14
_numbers = itertools.count()
_readers = {}  # arenas of this process's workers, by number


def _rebuild_block(number, place, nbytes):
    return _readers[number].receive(place, nbytes)


def _copy_to(storage, block):
    nbytes = storage.nbytes()
    whole = ((nbytes,), (1,), 0)
    tensor_over(block, _C.uint8, *whole).copy_(tensor_over(storage, _C.uint8, *whole))


def empty_in(arena, size, dtype):
    """A tensor in an arena; None where it is full."""
    stride, count = [], 1
    for length in reversed(size):
        stride.append(count)
        count *= max(length, 1)
    block = arena.allocate(count * dtype.itemsize)
    return None if block is None else tensor_over(block, dtype, size, stride[::-1], 0)


class ArenaReader:
    """The main process's side of an arena, which it makes."""

    def __init__(self):
        self.number = next(_numbers)
        self._arena = SharedArena()
        _readers[self.number] = self._arena

    def writer(self):
        """What travels to the worker."""
        return ArenaWriter(self.number, self._arena)

    def load(self, payload, place):
        """The object of a payload, which is the pickle or, with a place, the size of its block."""
        if place >= 0:
            payload = bytes(self._arena.receive(place, int.from_bytes(payload, "little")))
        return pickle.loads(payload)

    def close(self):
        """Batches that were handed out keep the memory; it goes with the last of them."""
        _readers.pop(self.number, None)


class _BatchPickler(pickle.Pickler):
    def __init__(self, file, table):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.dispatch_table = table


class ArenaWriter:
    """The worker's side of an arena."""

    def __init__(self, number, arena):
        self._number = number
        self.arena = arena
        self._file = io.BytesIO()
        self._pickler = None

    def __reduce__(self):
        return _open_writer, (self._number, reduction.DupFd(self.arena.fileno()))

    def _table(self):
        known = reduction.ForkingPickler(io.BytesIO()).dispatch_table
        return {
            **known,
            _C.Tensor: self._reduce_tensor,
            Parameter: self._reduce_tensor,
            _C.UntypedStorage: self._reduce_storage,
            TypedStorage: reductions.reduce_typed_storage,
        }

    def dump(self, value):
        """The payload and the place, as ArenaReader.load wants them."""
        if self._pickler is None:
            self._pickler = _BatchPickler(self._file, self._table())
        self._file.seek(0)
        self._file.truncate()
        self._pickler.clear_memo()
        try:
            self._pickler.dump(value)
        finally:
            self._pickler.clear_memo()  # it holds what it wrote
        payload = self._file.getvalue()
        if len(payload) > _LARGEST_INLINE:
            block = empty_in(self.arena, (len(payload),), _C.uint8)
            if block is not None:
                block.copy_(_C.frombuffer(bytearray(payload), dtype=_C.uint8))
                place = self.arena.send(block.untyped_storage())
                return len(payload).to_bytes(8, "little"), place
        return payload, -1

    def _reduce_storage(self, storage):
        place = self.arena.send(storage)
        if place is None and storage.device.type == "cpu":
            block = self.arena.allocate(storage.nbytes())
            if block is not None:
                _copy_to(storage, block)
                place = self.arena.send(block)
        if place is None:  # no room, or not on the CPU
            return reductions.reduce_storage(storage)
        return _rebuild_block, (self._number, place, storage.nbytes())

    def _reduce_tensor(self, tensor):
        reductions.check_can_travel(tensor)
        if tensor.device.type != "cpu":
            return reductions.reduce_tensor(tensor)
        storage = tensor.untyped_storage()
        if 2 * tensor.numel() * tensor.element_size() < storage.nbytes():
            alone = empty_in(self.arena, tuple(tensor.size()), tensor.dtype)
            if alone is not None:
                alone.copy_(tensor.detach())
                metadata = (*reductions.metadata_of(alone)[:-1], tensor.requires_grad)
                place = self.arena.send(alone.untyped_storage())
                nbytes = alone.untyped_storage().nbytes()
                return _rebuild_alone, (type(tensor), self._number, place, nbytes, metadata)
        return reductions.rebuild_tensor, (
            type(tensor),
            storage,
            reductions.metadata_of(tensor),
        )


def _rebuild_alone(cls, number, place, nbytes, metadata):
    return reductions.rebuild_tensor(cls, _rebuild_block(number, place, nbytes), metadata)


def _open_writer(number, descriptor):
    import os

    fd = descriptor.detach()
    try:
        return ArenaWriter(number, SharedArena(fd))
    finally:
        os.close(fd)
