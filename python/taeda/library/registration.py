"""Functions that register kernels, shapes, derivatives and rules for operators by name."""

import contextlib
import functools
import warnings

from taeda._C import _dispatch
from taeda.library.batching import make_batch_rule
from taeda.library.custom_operators import CustomOpDef
from taeda.library.derivatives import AutogradFormula, make_autograd_kernel
from taeda.library.keys import key_of_device
from taeda.library.libraries import Library
from taeda.library.qualified_names import find_overload, get_overload, parse_qualname, qualname_of

__all__ = [
    "define",
    "get_kernel",
    "impl",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A `Library` that is gone at the end of the scope."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


# Libraries of the functions below, which nobody else holds.
_kept = []


def _library_for(qualname, lib):
    """The given library, or one that lives as long as the process."""
    if lib is not None:
        return lib
    made = Library(parse_qualname(qualname)[0], "FRAGMENT")
    _kept.append(made)
    return made


@functools.singledispatch
def define(qualname, schema, *, lib=None, tags=()):
    """Defines the operator `namespace::name` with a schema like `(Tensor x) -> Tensor`."""
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    _, name = parse_qualname(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f"define(qualname, schema, ...): expected schema to look like e.g. "
            f'"(Tensor x) -> Tensor" but got "{schema}"'
        )
    _library_for(qualname, lib).define(name + schema, alias_analysis="", tags=tags)


@define.register
def _define_in(lib: Library, schema, alias_analysis=""):
    """The older form, a decorator: `define(lib, schema)`."""

    def wrap(fn):
        name = lib.define(schema, alias_analysis)
        lib.impl(name, fn)
        return fn

    return wrap


@functools.singledispatch
def impl(qualname, types, func=None, *, lib=None):
    """Registers a kernel of `namespace::name` for device types or dispatch keys; a decorator
    without `func`. `"default"` stands for every device."""
    kinds = (types,) if isinstance(types, str) else tuple(types)
    keys = {
        "CompositeExplicitAutograd" if kind == "default" else _key_of_type(kind) for kind in kinds
    }
    _, name = parse_qualname(qualname)

    def register(function):
        library = _library_for(qualname, lib)
        for key in sorted(keys):
            library.impl(name, function, key)

    return register if func is None else register(func)


@impl.register
def _impl_in(lib: Library, name, dispatch_key=""):
    """The older form, a decorator: `impl(lib, name, "CPU")`."""

    def wrap(fn):
        lib.impl(name, fn, dispatch_key)
        return fn

    return wrap


def _key_of_type(kind):
    """A dispatch key as it is, a device type as its key."""
    try:
        _dispatch.key_bits(kind)
        return kind
    except RuntimeError:
        return key_of_device(kind)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Registers a kernel for device types (None: all); a decorator without `func`."""
    qualname = qualname_of(op, "register_kernel")
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    kinds = "CompositeExplicitAutograd" if device_types is None else device_types
    return impl(qualname, kinds, func, lib=lib)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Registers the function that gives the results of an operator without computing them: new
    tensors of the right shape, dtype and strides; a decorator without `func`."""
    qualname = qualname_of(op, "register_fake")
    if isinstance(op, CustomOpDef):
        return op.register_fake if func is None else op.register_fake(func)

    def register(function):
        _, name = parse_qualname(qualname)
        if find_overload(qualname) is None:
            raise RuntimeError(f"operator {qualname} does not exist")
        _library_for(qualname, lib)._register_fake(name, function)
        return function

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The older name of `register_fake`."""
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use "
        "that instead",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers the derivative of an operator; see `CustomOpDef.register_autograd`."""
    qualname = qualname_of(op, "register_autograd")
    if isinstance(op, CustomOpDef):
        return op.register_autograd(backward, setup_context=setup_context)
    overload = get_overload(qualname)
    if overload._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload} with schema "
            f"{overload._schema}. Please create a functional operator and register an autograd "
            "formula for that."
        )
    formula = AutogradFormula()
    formula.backward, formula.setup_context = backward, setup_context
    library = _library_for(qualname, lib)
    kernel = make_autograd_kernel(overload, formula)
    library._impl(parse_qualname(qualname)[1], "Autograd", kernel, "recording keys defaults")


def register_vmap(op, func=None, /, *, lib=None):
    """Registers the rule `func(info, in_dims, *args) -> (outputs, out_dims)` of an operator."""
    qualname = qualname_of(op, "register_vmap")
    if isinstance(op, CustomOpDef):
        return op.register_vmap(func)

    def register(rule):
        library = _library_for(qualname, lib)
        library._set_batch_rule(get_overload(qualname), make_batch_rule(rule))
        return rule

    return register if func is None else register(func)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Registers what a mode or tensor subclass does with an operator, instead of its
    `__torch_dispatch__`: `func(mode, func, types, args, kwargs)`."""
    qualname = qualname_of(op, "register_torch_dispatch")
    if isinstance(op, CustomOpDef):
        return op.register_torch_dispatch(torch_dispatch_class, func)

    def register(function):
        library = _library_for(qualname, lib)
        library._register_torch_dispatch_rule(
            parse_qualname(qualname)[1], torch_dispatch_class, function
        )
        return function

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Under autocast of a device type, an operator's floating point inputs are cast to a dtype."""
    qualname = qualname_of(op, "register_autocast")
    if isinstance(op, CustomOpDef):
        return op.register_autocast(device_type, cast_inputs)
    _library_for(qualname, lib)._register_autocast(get_overload(qualname), device_type, cast_inputs)


class _Kernel:
    """A kernel taken out of the dispatcher; it stays callable when another one is registered."""

    def __init__(self, op, key, kernel):
        self._op = op
        self._key = key
        self._kernel = kernel

    def call_boxed(self, keyset, /, *args, **kwargs):
        """Runs the kernel itself, for the keys of the call it serves."""
        return _dispatch.call_kernel(
            self._kernel, self._op._handle, keyset.raw_repr(), args, kwargs
        )

    def __repr__(self):
        return f"<kernel of {self._op.name()} for {self._key}>"


def get_kernel(op, dispatch_key):
    """The kernel that an operator runs for a key now, to be called from one that replaces it."""
    qualname = qualname_of(op, "get_kernel")
    overload = get_overload(qualname)
    kernel = _dispatch.kernel_at(overload._handle, dispatch_key)
    if kernel is None:
        raise RuntimeError(f"no kernel for {dispatch_key} for {qualname}")
    return _Kernel(overload, dispatch_key, kernel)
