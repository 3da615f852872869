"""Where a value came from, as an expression: what guards and errors call it."""

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "AttrSource",
    "ChainedSource",
    "ConstantSource",
    "GetItemSource",
    "GlobalSource",
    "LocalSource",
    "Source",
    "TensorProperty",
    "TensorPropertySource",
]


class Source:
    """Where a value came from; `name` is the expression that finds it."""

    @property
    def name(self):
        raise NotImplementedError

    def is_ephemeral(self):
        """Whether the value is gone once the program has run."""
        return False


@dataclass(frozen=True)
class ChainedSource(Source):
    """A part of another value."""

    base: Source


@dataclass(frozen=True)
class ConstantSource(Source):
    """A name that stands for itself."""

    source_name: str

    @property
    def name(self):
        return self.source_name


@dataclass(frozen=True)
class LocalSource(Source):
    """A local variable of the program."""

    local_name: str
    is_input: bool = False

    @property
    def name(self):
        return f"L[{self.local_name!r}]"


@dataclass(frozen=True)
class GlobalSource(Source):
    """A global variable of the program."""

    global_name: str

    @property
    def name(self):
        return f"G[{self.global_name!r}]"


@dataclass(frozen=True)
class AttrSource(ChainedSource):
    """An attribute of another value."""

    member: str

    @property
    def name(self):
        return f"{self.base.name}.{self.member}"


@dataclass(frozen=True)
class GetItemSource(ChainedSource):
    """An element of another value."""

    index: object

    @property
    def name(self):
        return f"{self.base.name}[{self.index!r}]"


class TensorProperty(Enum):
    """A number that a tensor has."""

    SIZE = 0
    STRIDE = 1
    STORAGE_OFFSET = 2

    def method_name(self):
        return self.name.lower()


@dataclass(frozen=True)
class TensorPropertySource(ChainedSource):
    """A size, a stride or the offset of a tensor."""

    prop: TensorProperty
    idx: int = None

    @property
    def name(self):
        place = "" if self.idx is None else f"[{self.idx}]"
        return f"{self.base.name}.{self.prop.method_name()}(){place}"
