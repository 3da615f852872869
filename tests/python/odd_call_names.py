"""What the lines of odd calls may use beside `t`: uses of results, and calls of records' samples."""

from taeda._subclasses import FakeTensorMode
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda

# Results of more elements are neither printed nor differentiated; those without values may be.
MANY_ELEMENTS = 10_000


# ---- uses of a result ----


def _tensors(result):
    """The tensors of a result, lists and tuples opened, that are small or without values."""
    if isinstance(result, taeda.Tensor):
        if result.is_meta or result.numel() <= MANY_ELEMENTS:
            yield result
    elif isinstance(result, (list, tuple)):
        for item in result[:8]:
            yield from _tensors(item)


def show(result):
    """Prints a result's tensors."""
    return [repr(x) for x in _tensors(result)]


def differentiate(result):
    """Runs backward through a result's tensors, on a graph that can be differentiated again."""
    for x in _tensors(result):
        if x.requires_grad:
            x.sum().abs().backward(create_graph=True)


# ---- calls of samples ----


def _batched(function, tensors):
    """Every tensor a batch of three examples that share their memory."""
    return taeda.vmap(function)(*(x.expand(3, *x.shape) for x in tensors))


def _faked(function, tensors):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        return function(*(mode.from_tensor(x) for x in tensors))


def _pushed(function, tensors):
    """Tangents are ones; tensors without a tangent are refused."""
    return taeda.func.jvp(function, tensors, tuple(taeda.ones_like(x) for x in tensors))


# By name: (function, tuple of tensors) -> results.
TRANSFORMS = {
    "vmap": _batched,
    "jvp": _pushed,
    "grad": lambda f, xs: taeda.func.grad(lambda *a: next(_tensors(f(*a))).sum().abs())(*xs),
    "fake": _faked,
    "make_fx": lambda f, xs: make_fx(f)(*xs),
    "symbolic": lambda f, xs: make_fx(f, tracing_mode="symbolic")(*xs),
    "functionalize": lambda f, xs: taeda.func.functionalize(f)(*xs),
}


def sampled(overload, key, text, dtype, changes, of_leaves=False, under=None, **more):
    """Calls an overload with the arguments of a record's sample.

    `changes` has functions by an argument's place; with `of_leaves` tensors that can have a gradient
    have one. `under` names a transform of the call as a function of its tensors. Returns None where
    the dtype does not hold the sample's numbers.
    """
    read = taeda._dispatch.read_sample(key, text, dtype)
    if read is None:
        return None
    args, kwargs = list(read[0]), {**read[1], **more}
    for x in _tensors(args) if of_leaves else ():
        x.requires_grad_(x.is_floating_point() or x.is_complex())
    for place, change in changes.items():
        if place < len(args):
            args[place] = change(args[place])
    operator, _, name = overload.partition(".")
    function = getattr(getattr(taeda.ops.aten, operator), name or "default")
    if under is None:
        return function(*args, **kwargs)
    places = [i for i, a in enumerate(args) if isinstance(a, taeda.Tensor)]

    def of_tensors(*tensors):
        given = dict(zip(places, tensors))
        return function(*(given.get(i, a) for i, a in enumerate(args)), **kwargs)

    return TRANSFORMS[under](of_tensors, tuple(args[i] for i in places))


NAMES = {
    "t": taeda,
    "nan": float("nan"),
    "inf": float("inf"),
    "show": show,
    "differentiate": differentiate,
    "sampled": sampled,
}
