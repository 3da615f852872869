"""Batches between a worker and the main process: a pickle, whose tensors lie in an arena.

Note [Transport of batches]: each worker has an arena (taeda/core/shared_arena.h), one stretch of
shared memory for all batches of its life. Tensors are collated into blocks of it, or copied there,
and the pickle holds places of blocks; the main process makes tensors over the same memory. When
they are gone the worker uses the blocks again. So a tensor costs no descriptor, no name, no system
call and, once the arena is warm, no page fault. A pickle that is itself large lies in a block too.

A tensor that is a small part of its storage is copied alone; tensors that share a storage share it
on the other side otherwise.

Note [Batches and forks]: a forked child sees the batches that the main process has, in the same
memory. Their blocks are lent to it until it ends: it holds the only writing end of a pipe, and the
main process asks now and then whether the pipe has ended.
"""

import functools
import io
import itertools
import os
import pickle
from multiprocessing import reduction

from taeda import _C
from taeda._C._multiprocessing import SharedArena
from taeda.multiprocessing import reductions
from taeda.nn import Parameter
from taeda.storage import TypedStorage

__all__ = ["ArenaReader", "ArenaWriter"]

_LARGEST_INLINE = 1 << 12  # bytes: a pipe has room for the batches that a worker is ahead
_numbers = itertools.count()
_readers = {}  # arenas of this process's workers, by number

# Note [Batches and forks]
_forking = []  # of the fork that is under way: both ends of the pipe, arenas and places
_lent = []  # to children that live: the reading end, arenas and places
_inherited = []  # the writing end that this process has of its parent


def _lend():
    places = [(arena, arena.lend()) for arena in _readers.values()]
    places = [(arena, lent) for arena, lent in places if lent]
    if places:
        _forking.append((*os.pipe(), places))


def _lent_to_child():
    for reader, writer, places in _forking:
        os.close(writer)
        os.set_blocking(reader, False)
        _lent.append((reader, places))
    _forking.clear()


def _became_child():
    for reader, _ in _lent:
        os.close(reader)
    _lent.clear()
    for reader, writer, _ in _forking:
        os.close(reader)
        _inherited.append(writer)
    _forking.clear()


def _take_back():
    """The blocks of children that are gone."""
    for item in list(_lent):
        reader, places = item
        try:
            os.read(reader, 1)
        except BlockingIOError:
            continue
        _lent.remove(item)
        os.close(reader)
        for arena, lent in places:
            arena.take_back(lent)


os.register_at_fork(before=_lend, after_in_parent=_lent_to_child, after_in_child=_became_child)


def _receive_storage(number, place, nbytes):
    return _readers[number].receive(place, nbytes)


def _receive_tensor(number, message):
    return _readers[number].receive_tensor(message)


def _receive_parameter(number, message):
    tensor = _readers[number].receive_tensor(message)
    return Parameter(tensor.detach(), requires_grad=tensor.requires_grad)


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
        if _lent:
            _take_back()
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
            _C.Tensor: functools.partial(self._reduce_tensor, _receive_tensor),
            Parameter: functools.partial(self._reduce_tensor, _receive_parameter),
            _C.UntypedStorage: self._reduce_storage,
            TypedStorage: reductions.reduce_typed_storage,
        }

    def dump(self, value):
        """The payload and the place, as ArenaReader.load wants them."""
        if self._pickler is None:
            self._pickler = _BatchPickler(self._file, self._table())
        self._file.seek(0)
        self._file.truncate()
        try:
            self._pickler.dump(value)
        finally:
            self._pickler.clear_memo()  # it holds what it wrote
            self.arena.end_message()
        payload = self._file.getvalue()
        if len(payload) > _LARGEST_INLINE:
            block = _C.frombuffer(bytearray(payload), dtype=_C.uint8)
            place = self.arena.send(block.untyped_storage())
            self.arena.end_message()
            if place is not None:
                return len(payload).to_bytes(8, "little"), place
        return payload, -1

    def _reduce_storage(self, storage):
        place = self.arena.send(storage) if storage.device.type == "cpu" else None
        if place is None:  # no room, or not on the CPU
            return reductions.reduce_storage(storage)
        return _receive_storage, (self._number, place, storage.nbytes())

    def _reduce_tensor(self, receive, tensor):
        reductions.check_can_travel(tensor)
        message = self.arena.send_tensor(tensor) if tensor.device.type == "cpu" else None
        if message is None:
            return reductions.reduce_tensor(tensor)
        return receive, (self._number, message)


def _open_writer(number, descriptor):
    fd = descriptor.detach()
    try:
        return ArenaWriter(number, SharedArena(fd))
    finally:
        os.close(fd)
