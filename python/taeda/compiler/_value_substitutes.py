"""What captures enter in place of checks, copies of objects, attributes that C reads and tensors of
lists.

The functions themselves ask data, or are C: these spell out the same as calls that a graph holds.
"""

import copy
import copyreg
import functools
import operator
import types

import taeda
from taeda import _sym
from taeda._C._dynamo import as_operator, holds_tensor, is_unbacked
from taeda._sym import _raise_unless
from taeda.fx.symbolic.marks import mark_static

__all__ = ["SUBSTITUTES", "make_tensor", "note_assertion"]

SUBSTITUTES = {}
_Tensor = taeda.Tensor


def substitute(function):
    def note(own):
        SUBSTITUTES[function] = own
        return own

    return note


# ---- orders ----


class _Ordered:
    """What functools.cmp_to_key makes of an object: a function tells the order of two."""

    __slots__ = ("_compare", "obj")
    __hash__ = None

    def __init__(self, compare, obj):
        self._compare = compare
        self.obj = obj

    def __lt__(self, other):
        return self._compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self._compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self._compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self._compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self._compare(self.obj, other.obj) >= 0


@substitute(functools.cmp_to_key)
def _cmp_to_key(mycmp):
    return functools.partial(_Ordered, mycmp)


# ---- copies ----


def _attributes_of_slots(object_):
    """Those that a class keeps in slots, by name."""
    found = {}
    for kind in type(object_).__mro__:
        slots = getattr(kind, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            is_private = name.startswith("__") and not name.endswith("__")
            full = f"_{kind.__name__.lstrip('_')}{name}" if is_private else name
            if name not in ("__dict__", "__weakref__") and hasattr(object_, full):
                found[full] = getattr(object_, full)
    return found


def _state_of(object_):
    if type(object_).__getstate__ is not object.__getstate__:
        return object_.__getstate__()
    state = dict(object_.__dict__) if getattr(object_, "__dict__", None) else None
    slots = _attributes_of_slots(object_)
    return (state, slots) if slots else state


def _reduce_set(self):
    return type(self), (list(self),), _state_of(self)


substitute(set.__reduce__)(_reduce_set)
substitute(frozenset.__reduce__)(_reduce_set)


@substitute(object.__reduce_ex__)
def _reduce_ex(self, protocol):
    kind = type(self)
    if kind.__reduce__ is not object.__reduce__:
        return self.__reduce__()
    if protocol < 2:
        return copyreg.__reduce_ex__(self, protocol)
    if hasattr(kind, "__getnewargs_ex__"):
        args, kwargs = self.__getnewargs_ex__()
        make, args = copyreg.__newobj_ex__, (kind, args, kwargs)
    else:
        args = self.__getnewargs__() if hasattr(kind, "__getnewargs__") else ()
        make, args = copyreg.__newobj__, (kind, *args)
    state = _state_of(self)
    items = iter(self) if isinstance(self, list) else None
    pairs = iter(self.items()) if isinstance(self, dict) else None
    return make, args, state, items, pairs


# The same function: what breaks inside is one break, of the whole copy, whose memo knows objects by
# their addresses.
substitute(copy.deepcopy)(
    types.FunctionType(copy.deepcopy.__code__, vars(copy), "deepcopy", copy.deepcopy.__defaults__)
)


# ---- attributes that C reads ----


@substitute(operator.attrgetter.__call__)
def _get_attributes(getter, object_, /):
    def found(name):
        value = object_
        for part in name.split("."):
            value = getattr(value, part)
        return value

    names = getter.__reduce__()[1]
    return found(names[0]) if len(names) == 1 else tuple(found(name) for name in names)


@substitute(operator.methodcaller.__call__)
def _call_method(caller, object_, /):
    make, args = caller.__reduce__()
    if make is operator.methodcaller:
        return getattr(object_, args[0])(*args[1:])
    return getattr(object_, make.args[0])(*args, **make.keywords)


# ---- checks of data ----


def _text_of(message):
    """The text of a failure; None where it may be made of data.

    A graph that fails is run again by the program itself, which has its own text.
    """
    if message is None or message.__closure__ is not None:
        return None
    return str(message())


def _check_condition(error_type, cond, text):
    _raise_unless(error_type, cond, None if text is None else lambda: text)


@substitute(_sym._check_with)
def _check_with(error_type, cond, message=None):
    if is_unbacked(cond):
        as_operator(_check_condition, (error_type, cond, _text_of(message)), {})
    else:
        _raise_unless(error_type, cond, message)


def _check_all(error_type, cond, text):
    taeda._check_tensor_all_with(error_type, cond, None if text is None else lambda: text)


@substitute(taeda._check_tensor_all_with)
def _check_tensor_all_with(error_type, cond, message=None):
    as_operator(_check_all, (error_type, cond, _text_of(message)), {})


@substitute(taeda._check_tensor_all)
def _check_tensor_all(cond, message=None):
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_assertion(holds, error):
    try:
        taeda._check_tensor_all_with(AssertionError, holds)
    except AssertionError:
        raise AssertionError(*error or ()) from None


def note_assertion(cond, truth, error):
    """Whether it is one element, whose truth is checked from here on.

    error: what the AssertionError is made of; None where only the program knows.
    """
    if cond.numel() != 1:
        return False
    holds = cond.ne(0) if truth else cond.eq(0)
    as_operator(_check_assertion, (holds, error), {})
    return True


# ---- builtins of tensors ----


def extreme(is_largest, values):
    """max or min of Python, of numbers and of tensors with one element: a tensor of the graph."""
    best = values[0]
    for value in values[1:]:
        is_better = value > best if is_largest else value < best
        if isinstance(is_better, _Tensor) and _can_choose(best, value):
            best = taeda.where(is_better, value, best)
        elif is_better:
            best = value
    return best


def _can_choose(a, b):
    """Whether either looks as their common choice in the graph does."""
    tensor, other = (a, b) if isinstance(a, _Tensor) else (b, a)
    if tensor.numel() != 1 or tensor.is_complex():
        return False
    if isinstance(other, _Tensor):
        return (tensor.shape, tensor.dtype, tensor.device) == (
            other.shape,
            other.dtype,
            other.device,
        )
    return tensor.is_floating_point() or (isinstance(other, int) and tensor.dtype != taeda.bool)


# ---- marks ----


@substitute(mark_static)
def _mark_static(t, index=None):
    # The sizes are constants of the graph; the tensor itself is not written to.
    dims = (
        range(t.dim()) if index is None else index if isinstance(index, (list, tuple)) else (index,)
    )
    for d in dims:
        operator.index(t.shape[d])


# ---- tensors of lists ----


def _stacked(data):
    """A list of numbers and tensors of one element as a tensor."""
    if isinstance(data, _Tensor):
        return data.detach().reshape(())
    if isinstance(data, (list, tuple)):
        return taeda.stack([_stacked(item) for item in data])
    return taeda.scalar_tensor(data, dtype=taeda.result_type(data, data))


@substitute(taeda.tensor)
def _make_tensor(data, **kwargs):
    others = set(kwargs) - {"dtype", "device"}
    if others or isinstance(data, _Tensor) or not holds_tensor(data):
        return as_operator(taeda.tensor, (data,), kwargs)
    return _stacked(data).to(**kwargs) if kwargs else _stacked(data)


def make_tensor(*args):
    """`Tensor(*args)` of sizes or of a list of numbers."""
    if not args or isinstance(args[0], int):
        return taeda.empty(args or (0,))
    if isinstance(args[0], taeda.Size):
        return taeda.empty(args[0])
    return taeda.tensor(args[0], dtype=taeda.get_default_dtype(), device="cpu")
