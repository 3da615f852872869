"""Methods of Tensor that are written in Python: printing, copying, pickling, NumPy's protocols."""

import itertools

from taeda import (
    _C,
    _element_functions,
    _pinned_memory,
    _rebuild,
    _reduction,
    _storage_copy,
    _storage_files,
    _storage_sharing,
    _value_functions,
)
from taeda.overrides import (
    _default_torch_function,
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)


def _repr(self, *, tensor_contents=None):
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.__repr__, (self,), self, tensor_contents=tensor_contents
        )
    from taeda._tensor_str import _str

    return _str(self, tensor_contents=tensor_contents)


def _format(self, format_spec):
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.__format__, (self,), self, format_spec)
    if self.dim() == 0 and not self.is_meta and type(self) is _C.Tensor:
        return self.item().__format__(format_spec)
    return object.__format__(self, format_spec)


def _rebuild_from_type_v2(func, new_type, args, state):
    """An instance of a subclass of Tensor, or a tensor with attributes; `func(*args)` makes it."""
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    if new_type.__setstate__ is not _C.Tensor.__setstate__:
        tensor.__setstate__(state)
        return tensor
    return _rebuild.set_object_state(tensor, state)


def _state_of(tensor):
    """Attributes in the dict and in slots."""
    slots = [name for cls in type(tensor).__mro__ for name in getattr(cls, "__slots__", ())]
    in_slots = {name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}
    return {**tensor.__dict__, **in_slots}


def _reduce_ex(self, protocol):
    state = _rebuild.get_object_state(self)
    if type(self) is _C.Tensor and not state:
        return _plain_pair(self)
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.__reduce_ex__, (self,), self, protocol)
    func, args = _plain_pair(self)
    return _rebuild_from_type_v2, (func, type(self), args, state)


def _plain_pair(tensor):
    if tensor._backward_hooks:
        from taeda.utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(tensor)
    return _reduction.reduced(tensor)


def _setstate(self, state):
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.__setstate__, (self,), self, state)
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    return _rebuild.set_state(self, state)


def _deepcopy(self, memo):
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.__deepcopy__, (self,), self, memo)
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    from copy import deepcopy

    if _C._is_memoryless(self):
        return _deepcopy_wrapper(self, memo)
    with _NoGrad(), _C._DisableTorchDispatch():
        data = _copy_with_storage(self.detach(), memo)
    if type(self) is _C.Tensor:
        result = data.requires_grad_() if self.requires_grad else data
    else:
        result = _C.Tensor._make_subclass(type(self), data, self.requires_grad)
    memo[id(self)] = result
    if getattr(type(self), "_copies_values_alone", False):
        return result
    if self.grad is not None:
        result.grad = deepcopy(self.grad, memo)
    for name, value in _state_of(self).items():
        setattr(result, name, deepcopy(value, memo))
    return result


def _deepcopy_wrapper(self, memo):
    """A clone, which its class makes, with copies of all that the wrapper holds."""
    from copy import deepcopy

    with _NoGrad():
        result = self.clone()
    if type(result) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that properly implement clone() and for which cloning returns another "
            f"instance of the same subclass: got {type(result)} from {type(self)}; implement "
            "clone() or override __deepcopy__()"
        )
    memo[id(self)] = result
    for name, value in _state_of(self).items():
        setattr(result, name, deepcopy(value, memo))
    if self.requires_grad:
        result.requires_grad_()
    if self.grad is not None:
        result.grad = deepcopy(self.grad, memo)
    return result


def _copy_with_storage(tensor, memo):
    """A copy that shares memory with the copies of those it shares memory with."""
    if tensor.is_meta or tensor.is_conj() or tensor.is_neg() or tensor.device.type != "cpu":
        return tensor.clone()
    storage = _storage_copy.deepcopy(tensor.untyped_storage(), memo)
    return _storage_copy.tensor_over(
        storage, tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset()
    )


def _reversed(self):
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.__reversed__, (self,), self)
    return self if self.dim() == 0 else self.flip(0)


class _NoGrad:
    def __enter__(self):
        self.previous = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *_):
        _C._set_grad_enabled(self.previous)


def _array_wrap(self, array, context=None, return_scalar=False):
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.__array_wrap__, (self,), self, array, context, return_scalar
        )
    return _C.from_numpy(array) if array.ndim else _C.tensor(array.item())


def _type(self, dtype=None, non_blocking=False, **_):
    """The legacy type name, or the tensor converted to a dtype or legacy type."""
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.type, (self,), self, dtype=dtype, non_blocking=non_blocking, **_
        )
    from taeda._tensor_types import NAMES, TYPES

    if dtype is None:
        name = str(self.dtype).rpartition(".")[2]
        prefix = "torch" if self.device.type == "cpu" else f"torch.{self.device.type}"
        return f"{prefix}.{NAMES.get(name, name)}Tensor"
    if isinstance(dtype, str):
        named = TYPES.get(dtype.rpartition(".")[2])
        if named is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = named
    if dtype is _C.Tensor:
        dtype = _C.get_default_dtype()
    elif dtype in TYPES.values():
        dtype = dtype.dtype
    elif not isinstance(dtype, _C.dtype):
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
    return self.to(dtype)


def _new(self, *args, device=None):
    """A tensor of this one's dtype: of a size, uninitialized, or of the given data."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.new, (self,), self, *args, device=device)
    from taeda._tensor_types import new_of_dtype

    return new_of_dtype(self.dtype, args).to(self.device if device is None else device)


def _storage(self):
    """The tensor's memory as numbers of its dtype."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.storage, (self,), self)
    from taeda.storage import TypedStorage, warn_deprecated

    warn_deprecated()
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def _typed_storage(self):
    """The memory as numbers, without the warning."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor._typed_storage, (self,), self)
    from taeda.storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


def _storage_type(self):
    """FloatStorage or the like: the type that the memory's numbers have."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.storage_type, (self,), self)
    from taeda._storage_types import TYPES

    return TYPES[self._typed_storage().pickle_storage_type()]


def _is_shared(self):
    """Whether the memory is shared memory, which other processes can see."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.is_shared, (self,), self)
    return not self.is_meta and self.untyped_storage().is_shared()


def _share_memory_(self):
    """Moves the storage to shared memory, for all tensors over it; does nothing where it is."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.share_memory_, (self,), self)
    self.untyped_storage().share_memory_()
    return self


def _rdiv(self, other):
    """The name that PyTorch keeps beside __rtruediv__."""
    return _C.Tensor.__rtruediv__(self, other)


def _nonzero(self, *, as_tuple=False):
    """The coordinates of the elements that are not zero: rows, or a vector for each dimension."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.nonzero, (self,), self, as_tuple=as_tuple)
    return self.nonzero_numpy() if as_tuple else _C.nonzero(self)


def _is_nonzero(self):
    """Whether the one element differs from zero."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.is_nonzero, (self,), self)
    return bool(self)


def _narrow_copy(self, dim, start, length):
    """A copy of `length` elements along a dimension, from `start` on."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.narrow_copy, (self,), self, dim, start, length)
    return _C.narrow_copy(self, dim, start, length)


def _holds(condition):
    """Whether a condition is known to hold; what only data tells is not."""
    if isinstance(condition, bool):
        return condition
    from taeda.fx.symbolic.numbers import guard_or_false

    return guard_or_false(condition)


def _is_smaller(a, b):
    """Whether a stride is the smaller one: where only data tells, one that divides the other."""
    if _holds(a < b):
        return True
    if _holds(a >= b) or _holds(a == 0) or _holds(b == 0):
        return False
    return _holds(b % a == 0) and not _holds(a % b == 0)


def _dim_order(self, *, ambiguity_check=False):
    """The dimensions from the outermost in memory to the innermost."""
    if has_torch_function_unary(self):
        return handle_torch_function(
            _C.Tensor.dim_order, (self,), self, ambiguity_check=ambiguity_check
        )
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all(isinstance(f, _C.memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides, sizes = self.stride(), self.size()
    # One of the given formats settles an order that the strides leave open.
    is_settled = sum(self.is_contiguous(memory_format=f) for f in formats) == 1
    is_checked = ambiguity_check is not False and not is_settled
    has_one = any(_holds(size == 1) for size in sizes)
    neighbours = itertools.pairwise(strides)
    if is_checked and (
        has_one or not all(_is_smaller(a, b) or _is_smaller(b, a) for a, b in neighbours)
    ):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given "
            "memory formats."
        )
    order = list(range(self.dim()))
    for last in range(1, self.dim()):
        moving = last
        for at in reversed(range(last)):
            outer, inner = order[at], order[moving]
            # Dimensions of one element lie anywhere: they are passed, not moved.
            if any(_holds(sizes[d] == 1) or _holds(strides[d] == 0) for d in (outer, inner)):
                continue
            if not _is_smaller(strides[outer], strides[inner]):
                break
            order[at], order[moving] = inner, outer
            moving = at
    return tuple(order)


def _module_load(self, other, assign=False):
    """What Module.load_state_dict exchanges this tensor with, where it exchanges objects."""
    if has_torch_function_variadic(self, other):
        return handle_torch_function(
            _C.Tensor.module_load, (self, other), self, other, assign=assign
        )
    return other.detach() if assign else self.copy_(other).detach()


_METHODS = {
    "__repr__": _repr,
    "__format__": _format,
    "__reduce_ex__": _reduce_ex,
    "__setstate__": _setstate,
    "__reversed__": _reversed,
    "__deepcopy__": _deepcopy,
    "__array_wrap__": _array_wrap,
    "type": _type,
    "new": _new,
    "storage": _storage,
    "storage_type": _storage_type,
    "_typed_storage": _typed_storage,
    "apply_": _element_functions.apply_,
    "map_": _element_functions.map_,
    "map2_": _element_functions.map2_,
    "is_shared": _is_shared,
    "share_memory_": _share_memory_,
    "pin_memory": _pinned_memory.pin_tensor,
    "nonzero": _nonzero,
    "norm": _value_functions.norm_method,
    "unique": _value_functions.unique_method,
    "unique_consecutive": _value_functions.unique_consecutive_method,
    "is_nonzero": _is_nonzero,
    "narrow_copy": _narrow_copy,
    "dim_order": _dim_order,
    "module_load": _module_load,
    "__rdiv__": _rdiv,
}


def _install(cls):
    """Adds the methods to the type, and to that of its memory."""
    _storage_copy.install(_C.UntypedStorage)
    _storage_sharing.install(_C.UntypedStorage)
    _storage_files.install(_C.UntypedStorage)
    _pinned_memory.install(_C.UntypedStorage)
    cls.__torch_function__ = classmethod(_default_torch_function)
    cls.__torch_dispatch__ = _C._disabled_torch_dispatch_impl
    cls.__array_priority__ = 1000
    for name, method in _METHODS.items():
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        setattr(cls, name, method)
    cls.__module__ = "taeda"
