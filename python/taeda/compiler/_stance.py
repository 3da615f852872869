"""How compiled functions behave: taeda.compiler.set_stance."""

import contextlib
import functools

from taeda import _C

__all__ = ["DynamoStance", "as_captured", "forced_backend", "set_stance"]

# The order is that of Stance in python/src/dynamo/compiled_regions.h.
_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


class DynamoStance:
    """What compiled functions do where no compiled version fits."""

    __slots__ = ("backend", "skip_guard_eval_unsafe", "stance")

    def __init__(self, stance="default", skip_guard_eval_unsafe=False, backend=None):
        self.stance = stance
        self.skip_guard_eval_unsafe = skip_guard_eval_unsafe
        self.backend = backend

    def __repr__(self):
        return (
            f"DynamoStance(stance={self.stance!r}, "
            f"skip_guard_eval_unsafe={self.skip_guard_eval_unsafe!r}, backend={self.backend!r})"
        )

    def __eq__(self, other):
        return isinstance(other, DynamoStance) and repr(self) == repr(other)

    def __hash__(self):
        return hash((self.stance, self.skip_guard_eval_unsafe))


_now = DynamoStance()


def forced_backend():
    """The backend that stands for every other; None where each function has its own."""
    return _now.backend


def _set(new, name="set_stance"):
    global _now
    if _C._dynamo.is_in_region():
        raise AssertionError(
            f"Attempt to trace forbidden callable {name}: a compiled program sets no stance; set "
            "it around the call"
        )
    before, _now = _now, new
    _C._dynamo.set_stance(_STANCES.index(new.stance))
    _C._dynamo.set_skips_guards(new.skip_guard_eval_unsafe)
    if before.backend is not new.backend:
        # What one backend compiled is none of the other's.
        from taeda.compiler._compile import forget_all

        forget_all()
    return before


@contextlib.contextmanager
def as_captured():
    """A scope in which programs are captured, whatever the stance of the program is."""
    before = _C._dynamo.set_stance(_STANCES.index("default"))
    try:
        yield
    finally:
        _C._dynamo.set_stance(before)


class set_stance:
    """How compiled functions behave from now on, in a `with`, or in a function that it decorates.

    "default"; "force_eager": they run as they are; "eager_on_recompile": so do calls that no
    compiled version fits; "fail_on_recompile": those are an error; "eager_then_compile": the first
    call runs as it is, the second compiles, sizes that differ between them as symbols;
    "aot_eager_then_compile": the first call runs the backend "aot_eager".

    skip_guard_eval_unsafe: a function with one compiled version takes it by its tensors alone; the
    program answers for everything else. force_backend: a backend in place of each function's own.
    """

    _dynamo_forbidden = True

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        if stance not in _STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance '{stance}'; there are {', '.join(_STANCES)}"
            )
        if force_backend is not None:
            from taeda.compiler._backends import lookup_backend

            force_backend = lookup_backend(force_backend)
        self.stance = DynamoStance(stance, bool(skip_guard_eval_unsafe), force_backend)
        self.prev = _set(self.stance)

    def __enter__(self):
        _set(self.stance)

    def __exit__(self, *_):
        _set(self.prev)

    def __call__(self, function):
        _set(self.prev)
        # Modules and other objects that are called have no name.
        name = getattr(function, "__qualname__", type(function).__qualname__)

        @functools.wraps(function)
        def inside(*args, **kwargs):
            before = _set(self.stance, name)
            try:
                return function(*args, **kwargs)
            finally:
                _set(before)

        inside._dynamo_forbidden = True
        return inside
