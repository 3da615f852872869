"""Which function a decorator of the compiler stands for."""

__all__ = ["innermost_fn", "note_innermost"]


def innermost_fn(fn):
    """The function that decorators of the compiler stand for.

    functools.wraps copies their attributes to functions that do more.
    """
    while getattr(fn, "_torchdynamo_wrapper_id", None) == id(fn):
        fn = fn._torchdynamo_orig_callable
    return fn


def note_innermost(made, fn):
    made._torchdynamo_orig_callable = fn
    made._torchdynamo_wrapper_id = id(made)
