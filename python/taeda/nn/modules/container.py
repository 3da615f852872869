"""Containers of modules: Sequential, ModuleList and ModuleDict."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import groupby
from warnings import warn

from taeda._own_names import adopt_private_classes
from taeda.nn.modules._pairs import checked_pairs
from taeda.nn.modules._parameter_containers import ParameterDict, ParameterList
from taeda.nn.modules.module import Module, _addindent

__all__ = [
    "Container",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]


class Container(Module):
    """The older base of modules with children, given by keyword."""

    def __init__(self, **kwargs):
        super().__init__()
        warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in "
            "nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Sequence(Module):
    """The base of Sequential and ModuleList: children named by their place, used like a list."""

    def _names(self):
        return list(self._modules)

    def _name_at(self, idx):
        """The name of the child at a place, which may count from the end."""
        size, place = len(self), operator.index(idx)
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of range")
        return self._names()[place]

    def _renumber(self, modules):
        self._modules.clear()
        for place, module in enumerate(modules):
            self._modules[str(place)] = module

    def __setitem__(self, idx, module):
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx):
        names = self._names()[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Adds a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Takes out and returns the module at a place."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Sequence):
    """Modules called one after the other, each on the result of the last."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(place), module) for place, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __add__(self, other):
        self._check_other("add", other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_other("add", other)
        return self.extend(list(other))

    def _check_other(self, name, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"{name} operator supports only objects of Sequential class, but {type(other)} is "
                "given."
            )

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def insert(self, index, module):
        """Puts a module before the one at `index`; returns the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        index += size if index < 0 else 0
        for i in range(size, index, -1):
            # Names other than numbers are not replaced: KeyError, as in PyTorch.
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential):
        """Adds the modules of an iterable at the end; returns the container."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Sequence):
    """A list of modules that are registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._name_at(idx)]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)([*self, *other])

    def insert(self, index, module):
        """Puts a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules):
        """Adds the modules of an iterable at the end; returns the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        """Runs of modules that print alike are one line with their count."""
        if len(self) == 0:
            return self._get_name() + "()"
        lines = []
        for text, run in groupby(enumerate(map(repr, self)), key=lambda pair: pair[1]):
            places = [place for place, _ in run]
            first, count = places[0], len(places)
            text = text if count == 1 else f"{count} x {text}"
            label = f"{first}" if count == 1 else f"{first}-{places[-1]}"
            lines.append(f"({label}): " + _addindent(text, 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name, in the order of insertion."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Takes out and returns a module."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds modules from a mapping or from pairs; those of the same names are replaced."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            modules = modules.items()
        for key, value in checked_pairs("ModuleDict", modules):
            self[key] = value


adopt_private_classes(globals())
