"""What classes with a `__torch_dispatch__` share: taking wrappers apart, and results that alias.

A wrapper subclass holds other tensors. It shows them by two methods: `__tensor_flatten__()` gives
the names of the attributes that hold tensors and a context; `__tensor_unflatten__(tensors, context,
outer_size, outer_stride)`, of the class, makes an instance again.
"""

from taeda import _C

__all__ = [
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def is_traceable_wrapper_subclass_type(t):
    """Whether the class is a subclass of Tensor that can be taken apart."""
    return (
        issubclass(t, _C.Tensor)
        and t is not _C.Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor of a class that can be taken apart."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A wrapper like `t` of `callback(name, tensor)` for each tensor that `t` holds."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != outer_size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{outer_size}, but got: {made.shape}"
        )
    if tuple(made.stride()) != tuple(outer_stride):
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have stride equal to "
            f"{outer_stride}, but got: {made.stride()}"
        )
    return made


def return_and_correct_aliasing(func, args, kwargs, out):
    """What `__torch_dispatch__` returns for `out`, made anew, so that it aliases as `func` says.

    The result of a view shares the storage of the wrapper it looks at; an operator that writes to
    an argument returns that argument, with the sizes it has now.
    """
    schema = func._schema
    given = _arguments_by_alias(schema, args, kwargs or {})
    several = isinstance(out, (tuple, list)) and len(schema.returns) > 1
    outs = list(out) if several else [out]
    for i, result in enumerate(schema.returns):
        info = result.alias_info
        source = _source(info, given) if info is not None else None
        if source is None:
            continue
        if info.is_write:
            _take_geometry(source, outs[i])
            outs[i] = source
        else:
            _share_storage(func, source, outs[i])
    return type(out)(outs) if several else outs[0] if schema.returns else out


def _arguments_by_alias(schema, args, kwargs):
    """The arguments that results may alias, by the letter of their annotation."""
    found = {}
    for i, argument in enumerate(schema.arguments):
        if argument.alias_info is None:
            continue
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        for letter in argument.alias_info.before_set:
            found[letter] = value
    return found


def _source(info, given):
    for letter in info.before_set:
        if letter in given:
            return given[letter]
    return None


def _is_wrapper(value):
    return isinstance(value, _C.Tensor) and _C._is_memoryless(value)


def _share_storage(func, source, out):
    for view in out if isinstance(out, (tuple, list)) else (out,):
        if not _is_wrapper(source) and not _is_wrapper(view):
            continue
        if type(source) is not type(view):
            raise AssertionError(
                f"Called {func} with input of type {type(source)}\n"
                f"and output of type {type(view)}. But expected types to match."
            )
        _C._set_storage_of(view, source)


def _take_geometry(written, out):
    if not _is_wrapper(written) or not isinstance(out, _C.Tensor) or out is written:
        return
    if out.shape != written.shape or out.stride() != written.stride():
        _C._set_geometry_of(written, out)
