"""Programs that look closely at what they get, run with a function as it is and compiled.

A program takes `run`, which compiles a function or leaves it as it is, and gives what it saw.
"""

import contextlib
import warnings

import pytest
from taeda._inductor import compile as inductor
from taeda.fx.aot import aot_function, make_boxed_func, nop

import taeda as t


def kernels(gm, inputs):
    return make_boxed_func(inductor(gm, inputs, native="never"))


BACKENDS = {
    "nop": lambda f: aot_function(f, nop),
    "kernels": lambda f: aot_function(f, kernels),
    "dynamic": lambda f: aot_function(f, kernels, dynamic=True),
    "aot_eager": lambda f: t.compile(f, backend="aot_eager"),
    "inductor": lambda f: t.compile(f),
}
# ---- what a program sees ----


def line(*sizes):
    count = 1
    for size in sizes:
        count *= size
    return (t.arange(count, dtype=t.float32) * 0.37 + 0.2).sin().reshape(sizes)


def leaf(*sizes):
    return line(*sizes).requires_grad_()


def look(x):
    """Everything about a tensor that does not tell where it lies."""
    if not isinstance(x, t.Tensor):
        return x
    return {
        "values": x.detach().tolist(),
        "layout": (tuple(x.shape), x.stride(), x.storage_offset(), x.dtype),
        "graph": (x.requires_grad, x.is_leaf),
    }


def looks(*tensors):
    return [look(x) for x in tensors]


def is_shared(*tensors):
    """Which of the tensors lie in the memory of the first."""
    first = tensors[0].untyped_storage().data_ptr()
    return [x.untyped_storage().data_ptr() == first for x in tensors[1:]]


@contextlib.contextmanager
def errors(seen, words=6):
    """Appends the kind of error and how its message begins."""
    try:
        yield
        seen.append("no error")
    except RuntimeError as error:
        seen.append((type(error).__name__, str(error).split()[:words]))


def differs(have, want, path=""):
    """Where two things that were seen differ, as a text; numbers may be rounded."""
    if type(have) is not type(want):
        return f"{path}: {have!r} is not {want!r}"
    if isinstance(want, dict):
        found = [differs(have.get(k), want[k], f"{path}.{k}") for k in want]
    elif isinstance(want, (list, tuple)):
        if len(have) != len(want):
            return f"{path}: {have!r} is not {want!r}"
        found = [differs(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(have, want))]
    elif isinstance(want, float):
        found = [
            None
            if have == pytest.approx(want, abs=1e-5, nan_ok=True)
            else f"{path}: {have} is not {want}"
        ]
    else:
        found = [None if have == want else f"{path}: {have!r} is not {want!r}"]
    return next((f for f in found if f), None)


def check(program, backend):
    """The program sees the same with a compiled function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, have = program(lambda f: f), program(BACKENDS[backend])
    assert not differs(have, want)
