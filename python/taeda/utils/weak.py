"""Weak references to tensors, and dictionaries whose keys are objects by identity, held weakly.

A tensor's `==` compares elements, so that tensors cannot be keys of an ordinary dictionary.
"""

import weakref
from collections.abc import MutableMapping

import taeda

__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
    "ref",
]

ref = weakref.ref
WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object, alive or gone."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        if mine is not None and others is not None:
            return mine is others
        return self is other

    def __ne__(self, other):
        return not self == other


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None once it is gone."""

    __slots__ = ("ref",)

    def __init__(self, tensor):
        if not isinstance(tensor, taeda.Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary from objects, told apart by identity; an entry goes with its key."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data = {}
        self.ref_type = ref_type
        entries = self.data

        def forget(reference):
            entries.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing that a weak reference can be made to
            return False

    def __iter__(self):
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self):
        return len(self.data)

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self):
        """Weak references to the keys."""
        return list(self.data)

    def copy(self):
        """A dictionary with the same entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None


WeakTensorKeyDictionary = WeakIdKeyDictionary
