"""`__torch_function__`: classes and modes that see calls of functions, methods and attributes.

Operators written in C++ look for overrides while they read their arguments; functions written in
Python ask `has_torch_function` first and hand over with `handle_torch_function`. The default,
`Tensor.__torch_function__`, runs the function with classes set aside and gives its results the
class of the subclass.
"""

from taeda import _C

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

# Whether a mode is active or an argument overrides: given as one sequence, alone, or one by one.
has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic

_disabled = _C._disabled_torch_function_impl


def _get_overloaded_args(relevant_args, get_type_fn=type):
    """The arguments to ask, one per class: in order, but a subclass before its base classes.

    Plain tensors count too: functions written in Python tell overrides about them.
    """
    if not _C._is_torch_function_enabled():
        return []
    out, classes = [], set()
    for arg in relevant_args:
        cls = get_type_fn(arg)
        if cls in classes or getattr(cls, "__torch_function__", _disabled) is _disabled:
            continue
        classes.add(cls)
        at = next((i for i, o in enumerate(out) if issubclass(cls, get_type_fn(o))), len(out))
        out.insert(at, arg)
    return out


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Hands a call of `public_api(*args, **kwargs)` to the mode or to the classes that override."""
    overloaded = _get_overloaded_args(relevant_args)
    types = tuple(map(type, overloaded))
    if _C._is_torch_function_mode_enabled():
        with _pop_mode_temporarily() as mode:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for arg in overloaded:
        result = arg.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = resolve_name(public_api) or f"{public_api.__module__}.{public_api.__name__}"
    message = (
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )
    if _C._is_torch_function_mode_enabled():
        message += f" nor was it found on the currently active mode {_get_current_function_mode()}"
    raise TypeError(message)


def _handle_call(public_api, relevant_args, named):
    """Hands over a call whose arguments are in `named`, the function's `locals()`.

    Overrides see what has a default by keyword, all else by position, however it was given.
    """
    code, defaults = public_api.__code__, public_api.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    num_required = len(names) - len(defaults)
    args = [named[name] for name in names[:num_required]]
    kwargs = {name: named[name] for name in names[num_required:]}
    return handle_torch_function(public_api, relevant_args, *args, **kwargs)


def wrap_torch_function(dispatcher):
    """Decorates a function so that overrides see it; `dispatcher` returns the arguments to ask."""

    def decorate(func):
        from functools import wraps

        @wraps(func)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp):
    """Whether the value is a tensor, or its class has `__torch_function__`."""
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


_nowrap = None


def get_default_nowrap_functions():
    """Functions whose results keep their class in the default `__torch_function__`."""
    global _nowrap
    if _nowrap is None:
        cls = _C.Tensor
        _nowrap = {cls._base.__get__, cls.grad.__get__, cls._grad.__get__}
    return _nowrap


def _keeps_class(func):
    return func in get_default_nowrap_functions()


def _convert(value, cls):
    """The value, tensors in it as instances of `cls`."""
    if isinstance(value, _C.Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [_convert(item, cls) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _default_torch_function(cls, func, types, args=(), kwargs=None):
    """Runs `func` with classes set aside; tensors in its results become instances of `cls`."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with _C.DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if cls is _C.Tensor or _keeps_class(func):
            return result
        return _convert(result, cls)


# ---- modes ----
class TorchFunctionMode:
    """A context in which `__torch_function__(self, func, types, args=(), kwargs=None)` sees calls.

    It sees every call, whatever its arguments; modes nest, the innermost is asked first. While it
    answers it is set aside, so that its own calls go to the mode around it or to the operators.
    """

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """A new mode: the older spelling of `with Mode():`."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _push_mode(mode):
    _C._push_on_torch_function_stack(mode)


def _pop_mode():
    return _C._pop_torch_function_stack()


def _get_current_function_mode():
    depth = _C._len_torch_function_stack()
    return _C._get_function_stack_at(depth - 1) if depth else None


def _get_current_function_mode_stack():
    return [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]


class _pop_mode_temporarily:
    """Sets the innermost mode aside for a scope."""

    def __enter__(self):
        self._mode = _pop_mode()
        return self._mode

    def __exit__(self, *_):
        _push_mode(self._mode)


# Lets classes and modes see calls again inside a scope that switched them off.
_enable_torch_function = _C._EnableTorchFunction


def enable_reentrant_dispatch():
    """A scope inside `__torch_dispatch__` in which autograd records what the handler calls."""
    return _C._RestorePythonTLSSnapshot()


# ---- which functions take part: worked out when first asked for ----
def get_overridable_functions():
    """Modules and classes, each with its functions that look for overrides."""
    from taeda._overridable_functions import overridable_functions

    return overridable_functions()


def get_ignored_functions():
    """Public functions that never look for overrides."""
    from taeda._overridable_functions import ignored_functions

    return ignored_functions()


def get_testing_overrides():
    """Each overridable function with a stand-in of the same signature that returns -1."""
    from taeda._overridable_functions import testing_overrides

    return testing_overrides()


def resolve_name(f):
    """The public name of an overridable function, such as `torch.Tensor.add`; None for others."""
    from taeda._overridable_functions import public_names

    if isinstance(f, str):
        return f
    return public_names().get(f)


def is_tensor_method_or_property(func):
    """Whether an overridable function is a method of Tensor, or `__get__` of an attribute."""
    from taeda._overridable_functions import tensor_methods

    return func in tensor_methods() or getattr(func, "__name__", None) == "__get__"
