"""allow_mutation_on_saved_tensors: in-place writes first copy values that graphs saved."""

from weakref import WeakKeyDictionary, ref

from taeda import _C

_active = None


class _Handle:
    """Stands for a saved tensor in the graph."""

    __slots__ = ("__weakref__",)


class _Saved:
    """What one context keeps: saved tensors by the storage they lie in, and copies of those lost.

    Everything hangs on handles, which only graphs hold, so what backward frees is forgotten here.
    """

    def __init__(self):
        self.originals = WeakKeyDictionary()  # handle -> tensor, until it is overwritten
        self.copies = WeakKeyDictionary()  # handle -> copy
        self.by_storage = {}  # address -> weak references to handles

    def pack(self, tensor):
        handle = _Handle()
        self.originals[handle] = tensor
        self.by_storage.setdefault(_address(tensor), []).append(ref(handle))
        return handle

    def unpack(self, handle):
        if _active is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        copy = self.copies.get(handle)
        return self.originals[handle] if copy is None else copy

    def before_write(self, tensor):
        for weak in self.by_storage.pop(_address(tensor), ()):
            handle = weak()
            if handle is not None:
                self.copies[handle] = self.originals.pop(handle).clone()

    def clear(self):
        self.originals.clear()
        self.copies.clear()
        self.by_storage.clear()


def _address(tensor):
    return tensor.untyped_storage().data_ptr()


class allow_mutation_on_saved_tensors:
    """Inside, tensors that operations saved may be written to in place: a copy is kept for
    backward, which must run inside as well."""

    def __enter__(self):
        global _active
        if _active is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.saved = _active = _Saved()
        _C._push_saved_tensors_default_hooks(self.saved.pack, self.saved.unpack)
        _C._set_write_watcher(self.saved.before_write)
        return self.saved

    def __exit__(self, *_):
        global _active
        _C._set_write_watcher(None)
        _C._pop_saved_tensors_default_hooks()
        self.saved.clear()
        _active = None
