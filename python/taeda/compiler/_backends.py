"""Backends: functions that take a captured graph and examples of its inputs, and give a callable.

A program may register its own, or pass a function.
"""

import functools

__all__ = [
    "OWN_BACKENDS",
    "aot_autograd",
    "aot_eager",
    "aot_eager_decomp_partition",
    "eager",
    "fake_tensor_unsupported",
    "get_default_backend",
    "inductor",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
    "set_default_backend",
]

_backends = {}
_EXPERIMENTAL = ("debug", "experimental")
# Groups of entry points in which packages name their backends.
_GROUPS = ("torch_dynamo_backends", "taeda_dynamo_backends")
_default = "inductor"


def register_backend(compiler_fn=None, name=None, tags=()):
    """Registers a backend by its name, or that of the function; also a decorator."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError("a backend is a function of a GraphModule and example inputs")
    name = name or compiler_fn.__name__
    if name in _backends:
        raise AssertionError(f"duplicate name: {name}")
    compiler_fn._tags = tuple(tags)
    _backends[name] = compiler_fn
    return compiler_fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def set_default_backend(backend):
    """The backend of taeda.compile where a program names none; None is "inductor"."""
    global _default
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string or callable, got {type(backend)}")
    _default = "inductor" if backend is None else backend


def get_default_backend():
    """The backend of taeda.compile where a program names none."""
    return _default


def _entry_points():
    import importlib.metadata  # it takes longer than compiling a small function

    groups = [importlib.metadata.entry_points(group=group) for group in _GROUPS]
    return {point.name: point for points in groups for point in points}


def lookup_backend(compiler_fn):
    """The backend of a name; functions are themselves."""
    if not isinstance(compiler_fn, str):
        if not callable(compiler_fn):
            raise TypeError(f"a backend is a name or a function, not {compiler_fn!r}")
        return compiler_fn
    if compiler_fn in _backends:
        return _backends[compiler_fn]
    points = _entry_points()
    if compiler_fn in points:
        return register_backend(points[compiler_fn].load(), name=compiler_fn)
    from taeda.compiler._errors import InvalidBackend

    raise InvalidBackend(compiler_fn)


def list_backends(exclude_tags=_EXPERIMENTAL):
    """The names of backends, without those that have one of the tags."""
    excluded = set(exclude_tags or ())
    names = [name for name, fn in _backends.items() if not excluded & set(getattr(fn, "_tags", ()))]
    return sorted({*names, *_entry_points()})


@register_backend(tags=("debug",))
def eager(gm, example_inputs, **_):
    """The captured graph as it is."""
    return gm.forward


def aot_autograd(*, fw_compiler, bw_compiler=None, **settings):
    """A backend that gets graphs of operators: the forward's and the backward's.

    Settings are those of aot_module_simplified: partition_fn, decompositions and others.
    """
    from taeda.fx.aot.functions import aot_module_simplified

    def backend(gm, example_inputs, **_):
        return aot_module_simplified(
            gm, example_inputs, fw_compiler, bw_compiler or fw_compiler, **settings
        )

    return backend


def fake_tensor_unsupported(fn):
    """Of backends that need values: here as they are, since examples of inputs have none."""
    return fn


def _aot(partition_name):
    def backend(gm, example_inputs, **_):
        from taeda.fx.aot import partitioners

        partition = getattr(partitioners, partition_name)
        run = aot_autograd(fw_compiler=lambda graph, _examples: graph, partition_fn=partition)
        compiled = run(gm, example_inputs)
        compiled._is_own = True  # also where a backend of the program asked for it
        return compiled

    return backend


aot_eager = register_debug_backend(_aot("default_partition"), "aot_eager")
aot_eager_decomp_partition = register_debug_backend(
    _aot("min_cut_rematerialization_partition"), "aot_eager_decomp_partition"
)


@register_backend
def inductor(gm, example_inputs, mode=None, options=None):
    """Kernels and library calls that run from C++."""
    from taeda.compiler._options import InductorBackend

    return InductorBackend(mode, options)(gm, example_inputs)


# Those that come with the package.
OWN_BACKENDS = (eager, aot_eager, aot_eager_decomp_partition, inductor)
