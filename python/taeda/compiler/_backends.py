"""Backends: functions that take a captured graph and examples of its inputs, and give a callable.

A program may register its own, or pass a function.
"""

import importlib.metadata

__all__ = ["list_backends", "lookup_backend", "register_backend"]

_backends = {}
_EXPERIMENTAL = ("debug", "experimental")


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


def _entry_points():
    points = importlib.metadata.entry_points(group="torch_dynamo_backends")
    return {point.name: point for point in points}


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

    raise InvalidBackend(
        f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available "
        "backends."
    )


def list_backends(exclude_tags=_EXPERIMENTAL):
    """The names of backends, without those that have one of the tags."""
    excluded = set(exclude_tags or ())
    names = [name for name, fn in _backends.items() if not excluded & set(getattr(fn, "_tags", ()))]
    return sorted({*names, *_entry_points()})


@register_backend(tags=("debug",))
def eager(gm, example_inputs, **_):
    """The captured graph as it is."""
    return gm.forward


def _aot(partition_name):
    def backend(gm, example_inputs, **_):
        from taeda.fx.aot import partitioners
        from taeda.fx.aot.functions import aot_module_simplified

        def as_it_is(graph, _examples):
            return graph

        return aot_module_simplified(
            gm, example_inputs, as_it_is, partition_fn=getattr(partitioners, partition_name)
        )

    return backend


register_backend(_aot("default_partition"), "aot_eager", ("debug",))
register_backend(
    _aot("min_cut_rematerialization_partition"), "aot_eager_decomp_partition", ("debug",)
)


@register_backend
def inductor(gm, example_inputs, **options):
    """Kernels and library calls that run from C++."""
    from taeda import _inductor

    return _inductor.compile_open(gm, example_inputs, **options)
