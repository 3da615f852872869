"""Containers of parameters: ParameterList and ParameterDict; tensors in them become parameters."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from taeda import _C
from taeda.nn.modules._pairs import checked_pairs
from taeda.nn.modules.module import Module
from taeda.nn.parameter import Parameter


def _as_member(value):
    """A tensor as a parameter; other values stay what they are."""
    if isinstance(value, _C.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(label, value, type_text):
    """A line of the printed form."""
    if not isinstance(value, _C.Tensor):
        return f"  ({label}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.size()))
    where = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"  ({label}): {kind} containing: [{type_text(value)} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters that are registered; other values are kept beside them."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _name_at(self, idx):
        place = operator.index(idx)
        if not -self._size <= place < self._size:
            raise IndexError(f"index {place} is out of range")
        return str(place % self._size)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            places = range(*idx.indices(len(self)))
            return type(self)(self[place] for place in places)
        return getattr(self, self._name_at(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._name_at(idx), _as_member(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[place] for place in range(len(self))])

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value):
        """Adds a value at the end; returns the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds the values of an iterable at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, _C.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(
            _described(place, value, lambda tensor: str(tensor.dtype))
            for place, value in enumerate(self)
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name that are registered; other values are kept beside them."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        name = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, name, _as_member(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A new ParameterDict of the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The value of the name, which is set to `default` where it is new."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Removes all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes out and returns a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes out and returns the last (name, value)."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of the name, or `default`."""
        return getattr(self, key) if key in self._keys else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with the names, all of the same value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """(name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds values from a mapping or from pairs; a plain dict's in the order of the names."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but "
                "got " + type(parameters).__name__
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            parameters = parameters.items()
        elif isinstance(parameters, Mapping):
            parameters = sorted(parameters.items(), key=lambda pair: pair[0])
        for key, value in checked_pairs("ParameterDict", parameters):
            self[key] = value

    def extra_repr(self):
        return "\n".join(
            _described(key, value, lambda tensor: tensor.type()) for key, value in self.items()
        )

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
