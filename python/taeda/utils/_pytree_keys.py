"""Steps from a container to a child; the paths of pytree leaves are made of them."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class KeyEntry(Protocol):
    """One step of a path: prints as the expression that takes it, and takes it."""

    def __hash__(self): ...

    def __eq__(self, other): ...

    def __str__(self): ...

    def get(self, parent): ...


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The element at an index."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """The value of a key."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The attribute of a name."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


KeyPath = tuple[KeyEntry, ...]


def keystr(kp):
    """A path as text: `['a'][0].x`."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """The value at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
