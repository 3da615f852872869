"""custom_op and CustomOpDef: an operator made of a Python function."""

import contextlib
import inspect
import weakref

from taeda._ops import Tag
from taeda.library.batching import make_batch_rule
from taeda.library.derivatives import AutogradFormula, make_autograd_kernel
from taeda.library.fake_context import make_fake_kernel
from taeda.library.keys import key_of_device
from taeda.library.libraries import Library
from taeda.library.qualified_names import get_overload, parse_qualname
from taeda.library.schemas import infer_schema

# The definitions that are alive, by full name: a second one of the same name replaces the first.
OPDEFS = weakref.WeakValueDictionary()


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes a function an operator `namespace::name`, opaque to autograd, vmap and tracing.

    The schema comes from the annotations unless it is given. `mutates_args` names the arguments
    that the function writes to; it must not return them or views of them. `device_types` limits
    the function to some devices; `register_kernel` adds it for others.
    """

    def define(function):
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, op_name = parse_qualname(name)
        definition = CustomOpDef(namespace, op_name, text, function, tags)
        if schema is not None:
            _check_mutates(definition, schema, mutates_args)
        definition.register_kernel(device_types)(function)
        return definition

    return define if fn is None else define(fn)


def _check_mutates(definition, schema, mutates_args):
    arguments = definition._opoverload._schema.arguments
    written = {a.name for a in arguments if a.alias_info and a.alias_info.is_write}
    if mutates_args == "unknown" or written == set(mutates_args):
        return
    definition._lib._destroy()
    raise ValueError(
        f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
        f"`schema={schema}`. The schema suggests that the op mutates {written} which is different "
        "from what was provided to us in `mutates_args`. Please make these consistent."
    )


class CustomOpDef:
    """An operator made by `custom_op`; call it like the function, register more for it."""

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._kernels = {}
        self._disabled = set()
        self._fake = None
        self._formula = AutogradFormula()
        if (previous := OPDEFS.get(self._qualname)) is not None:
            previous._lib._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        self._define(() if tags is None else tags)
        OPDEFS[self._qualname] = self

    def _define(self, tags):
        tags = [tags] if isinstance(tags, Tag) else [*tags]
        self._lib.define(f"{self._name}{self._schema}", tags=[*tags, Tag.pt2_compliant_tag])
        op = self._opoverload = get_overload(self._qualname)
        self._check_schema(op._schema)
        impl = self._lib._impl
        impl(self._name, "Meta", self._run_fake, "")
        impl(
            self._name,
            "Autograd",
            make_autograd_kernel(op, self._formula),
            "recording keys defaults",
        )
        if op._schema.is_mutable:
            impl(self._name, "ADInplaceOrView", "versions", "")

    def _check_schema(self, schema):
        problem = None
        if any(a.kwarg_only and "Tensor" in a.type for a in schema.arguments):
            self._lib._destroy()
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {self._name}{self._schema}"
            )
        if any(a.alias_info and not a.alias_info.is_write for a in schema.arguments):
            problem = "arguments that results are views of"
        elif any(r.alias_info for r in schema.returns):
            problem = "results that alias arguments"
        if problem is not None:
            self._lib._destroy()
            raise ValueError(
                f"custom_op {self._qualname}: a custom operator returns new tensors, got a schema "
                f"with {problem}: {schema}. Return a clone, or mutate the argument and return None."
            )

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    # ---- kernels ----

    def register_kernel(self, device_types, fn=None, /):
        """Adds a function for one device type, several, or (None) all; a decorator without `fn`."""

        def register(function):
            _check_accepts(function, self._opoverload._schema, "register_kernel")
            kinds = (
                [device_types]
                if device_types is None or isinstance(device_types, str)
                else (device_types)
            )
            for kind in kinds:
                if kind is not None:
                    self._check_has_device()
                self._register_one(kind, function)
            return function

        return register if fn is None else register(fn)

    def _check_has_device(self):
        """A kernel for a device is chosen by the arguments, one of which must have a device."""
        arguments = self._opoverload._schema.arguments
        if any("Tensor" in a.type for a in arguments):
            return
        if not any(a.name == "device" and "Device" in a.type for a in arguments):
            raise ValueError(
                "Functions without tensor inputs are required to have a `device: torch.device` "
                "argument"
            )

    def _register_one(self, kind, function):
        key = "CompositeExplicitAutograd" if kind is None else key_of_device(kind)
        is_new = kind not in self._kernels
        self._kernels[kind] = function
        if not is_new:
            return

        def kernel(*args, **kwargs):
            chosen = self._init_fn if kind in self._disabled else self._kernels[kind]
            return chosen(*args, **kwargs)

        self._lib._impl(self._name, key, kernel, "no_alias")

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A scope in which a device's own kernel is used, or the operator's function instead."""
        was_disabled = device_type in self._disabled
        if device_type not in self._kernels:
            import warnings

            verb = "enable" if enabled else "disable"
            warnings.warn(
                f"Attempted to {verb} kernel for {device_type} but no kernel was registered for "
                "this device type."
            )
        change = self._disabled.discard if enabled else self._disabled.add
        change(device_type)
        try:
            yield
        finally:
            restore = self._disabled.add if was_disabled else self._disabled.discard
            restore(device_type)

    # ---- shapes, derivatives, batches ----

    def register_fake(self, fn, /):
        """Adds the function that gives results' shapes without computing them."""
        _check_accepts(fn, self._opoverload._schema, "register_fake")
        self._fake = make_fake_kernel(fn, self._qualname, _where(fn))
        return fn

    def _run_fake(self, *args, **kwargs):
        if self._fake is not None:
            return self._fake(*args, **kwargs)
        if self._opoverload._schema.is_mutable and not self._opoverload._schema.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for "
            "torch.compile/export/fx tracing to work. Please use "
            f"`{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def register_autograd(self, backward, /, *, setup_context=None):
        """Adds the derivative: `backward(ctx, *grads)` returns one gradient for each argument.

        `setup_context(ctx, inputs, output)` runs after the operator and saves what backward needs;
        with keyword-only arguments it is `setup_context(ctx, inputs, keyword_only_inputs, output)`.
        """
        schema = self._opoverload._schema
        if schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema "
                f"{schema}. Please create a functional operator and register an autograd formula "
                "for that."
            )
        self._formula.backward = backward
        self._formula.setup_context = setup_context

    def register_vmap(self, func=None):
        """Adds the rule `func(info, in_dims, *args) -> (outputs, out_dims)` for vmap."""

        def register(rule):
            self._lib._set_batch_rule(self._opoverload, make_batch_rule(rule))
            return rule

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Adds what a mode or tensor subclass does with the operator: `fn(mode, func, types, args,
        kwargs)` instead of its `__torch_dispatch__`."""

        def register(function):
            self._lib._register_torch_dispatch_rule(self._name, torch_dispatch_class, function)
            return function

        return register if fn is None else register(fn)

    def register_autocast(self, device_type, cast_inputs):
        """Under autocast of a device type, runs with floating point inputs cast to a dtype."""
        self._lib._register_autocast(self._opoverload, device_type, cast_inputs)


def _where(fn):
    try:
        return f"{inspect.getsourcefile(fn)}:{inspect.getsourcelines(fn)[1]}"
    except (TypeError, OSError):
        return repr(fn)


def _check_accepts(fn, schema, api_name):
    """Refuses a function that cannot be called with the operator's arguments."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return  # builtins do not tell
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    keywords = {a.name: None for a in schema.arguments if a.kwarg_only}
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        raise ValueError(
            f"{api_name}: the function {getattr(fn, '__name__', fn)}{signature} cannot take the "
            f"arguments of {schema}: {error}"
        ) from None
