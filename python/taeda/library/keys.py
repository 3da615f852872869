"""Dispatch keys for kernels written in Python: which layers of the dispatcher a call still has."""

import enum

from taeda._C import _dispatch

_BACKENDS = ("CPU", "CUDA", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3")
# Devices of PyTorch's that no build of Taeda has: their keys are in no set.
_ABSENT = ("HPU", "IPU", "MPS", "MTIA", "XLA", "XPU")
_LAYERS = ("BackendSelect", "Python", "Functionalize", "Negative", "Conjugate", "ADInplaceOrView")

# By PyTorch's names.
DispatchKey = enum.Enum(
    "DispatchKey",
    [
        *(
            f"{layer}{backend}"
            for layer in ("", "Autograd", "Autocast")
            for backend in (*_BACKENDS, *_ABSENT)
        ),
        *_LAYERS,
        "Autograd",
    ],
    module=__name__,
)
DispatchKey.__doc__ = "The layers of the dispatcher that kernels may be registered for."


def _bits_of(key):
    name = key.name if isinstance(key, DispatchKey) else key
    return 0 if name.endswith(_ABSENT) else _dispatch.key_bits(name)


class DispatchKeySet:
    """The keys a call carries; a kernel registered `with_keyset` gets it first."""

    __slots__ = ("_bits",)

    def __init__(self, keys):
        self._bits = keys if isinstance(keys, int) else _bits_of(keys)

    def has(self, key):
        bits = _bits_of(key)
        return bits != 0 and self._bits & bits == bits

    def raw_repr(self):
        return self._bits

    def add(self, key):
        return self | DispatchKeySet(key)

    def remove(self, key):
        """Without a key; the backend of one like AutogradCPU stays for the keys inside."""
        bits = _bits_of(key)
        backends = _dispatch.bits_below("Dense")
        outside_dense = bits & ~_dispatch.key_bits("Dense") & ~backends
        return DispatchKeySet(self._bits & ~(outside_dense or bits & backends))

    def __or__(self, other):
        return DispatchKeySet(self._bits | other._bits)

    def __and__(self, other):
        return DispatchKeySet(self._bits & other._bits)

    def __sub__(self, other):
        return DispatchKeySet(self._bits & ~other._bits)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._bits == other._bits

    def __hash__(self):
        return hash(self._bits)

    def __repr__(self):
        return "Dispatch" + _dispatch.key_text(self._bits)


def keys_below(key):
    """Every key inside `key`: those that still act after a kernel at it."""
    return DispatchKeySet(_dispatch.bits_below(key))


class ExcludeDispatchKeys:
    """A scope in which operators skip some keys."""

    def __init__(self, keys):
        self._bits = keys._bits

    def __enter__(self):
        self._before = _dispatch.exclude_keys(0)
        _dispatch.exclude_keys(self._before | self._bits)

    def __exit__(self, *exc):
        _dispatch.exclude_keys(self._before)


class IncludeDispatchKey:
    """A scope in which a key acts on every operator."""

    def __init__(self, key):
        self._bits = _bits_of(key)

    def __enter__(self):
        self._before = _dispatch.include_keys(0)
        _dispatch.include_keys(self._before | self._bits)

    def __exit__(self, *exc):
        _dispatch.include_keys(self._before)


class AutoDispatchBelowAutograd(ExcludeDispatchKeys):
    """A scope in which nothing is recorded, for kernels at the Autograd key."""

    def __init__(self):
        super().__init__(DispatchKeySet("Autograd"))


def excluded_keys():
    """The keys that operators skip on this thread."""
    before = _dispatch.exclude_keys(0)
    _dispatch.exclude_keys(before)
    return DispatchKeySet(before)


def included_keys():
    """The keys that act on every operator on this thread."""
    before = _dispatch.include_keys(0)
    _dispatch.include_keys(before)
    return DispatchKeySet(before)


def key_of_device(device_type):
    """The dispatch key of a device type: `cpu` is CPU."""
    return _dispatch.key_of_device(device_type)
