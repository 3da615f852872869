"""Functions without writes: functionalize as a transform."""

import functools

from taeda import _C
from taeda.func.derivatives import map_tensors


def functionalize(func, *, remove="mutations"):
    """`func` without in-place operators; with `remove="mutations_and_views"` without views too.

    Writes become new values inside; arguments that `func` writes to are written once, at the end.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
            "Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the "
            "program, and replaced with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = _C._enter_functionalize(remove == "mutations_and_views")
        try:
            given = {}

            def own(t):
                if id(t) not in given:
                    given[id(t)] = (t, _C._make_functional(t, level))
                return given[id(t)][1]

            args, kwargs = map_tensors(own, args), map_tensors(own, kwargs)
            output = func(*args, **kwargs)
            output = map_tensors(lambda t: _C._functional_value(t, level)[0], output)
            written = [
                (t, value)
                for t, wrapped in given.values()
                for value, is_written in [_C._functional_value(wrapped, level)]
                if is_written
            ]
        finally:
            _C._exit_functionalize(level)
        for t, value in written:
            t.copy_(value)
        return output

    return wrapper
