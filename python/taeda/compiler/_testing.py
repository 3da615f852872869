"""Backends that count what they get, for tests of programs that are captured."""

import re
import sys
import unittest

import taeda
from taeda.compiler import reset
from taeda.compiler._compile import optimize_assert
from taeda.testing._comparison import same

__all__ = [
    "AotEagerAndRecordGraphs",
    "CompileCounter",
    "CompileCounterWithBackend",
    "EagerAndRecordGraphs",
    "expectedFailureCodegenDynamic",
    "expectedFailureDynamic",
    "expectedFailureDynamicWrapper",
    "normalize_gm",
    "rand_strided",
    "reduce_to_scalar_loss",
    "skipIfNotPy311",
    "skipIfNotPy312",
    "skipIfOnlyNotPy312",
    "skipIfPy312",
    "standard_test",
    "three",
    "unsupported",
    "xfailIfPy312",
]

three = 3


def _count_calls(gm):
    return sum("call" in node.op for node in gm.graph.nodes)


class CompileCounter:
    """Runs graphs as they are and counts them and their calls."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _count_calls(gm)
        return gm.forward

    def clear(self):
        """Counts from zero."""
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend:
    """The same with another backend behind it; keeps the graphs."""

    def __init__(self, backend):
        self.backend = backend
        self.clear()

    def __call__(self, gm, example_inputs):
        from taeda.compiler._backends import lookup_backend

        self.frame_count += 1
        self.op_count += _count_calls(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        """Counts from zero."""
        self.frame_count = 0
        self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """Runs graphs as they are and keeps them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


class AotEagerAndRecordGraphs:
    """Runs graphs of operators, traced with their gradients, and keeps them."""

    def __init__(self):
        self.graphs = []
        self.fw_graphs = []
        self.bw_graphs = []

    def __call__(self, gm, example_inputs):
        from taeda.fx.aot.functions import aot_module_simplified

        def keep_in(graphs):
            def compile_graph(gm, _inputs):
                graphs.append(gm)
                return gm.forward

            return compile_graph

        self.graphs.append(gm)
        return aot_module_simplified(
            gm, example_inputs, keep_in(self.fw_graphs), keep_in(self.bw_graphs)
        )


def normalize_gm(gm_str):
    """The text of a graph without comments and blank lines at its lines' ends."""
    lines = [re.sub(r"\s*#.*$", "", line).rstrip() for line in gm_str.splitlines()]
    text = "\n".join(lines)
    return re.sub(r"\n{3,}", "\n\n", text)


def reduce_to_scalar_loss(out):
    """A number that depends on every tensor of a result."""
    if isinstance(out, taeda.Tensor):
        return out.sum() / out.numel()
    if isinstance(out, (list, tuple)):
        return sum(reduce_to_scalar_loss(part) for part in out) / len(out)
    if isinstance(out, dict):
        return sum(reduce_to_scalar_loss(part) for part in out.values()) / len(out)
    raise NotImplementedError("Don't know how to reduce", type(out))


def rand_strided(size, stride, dtype=taeda.float32, device="cpu", extra_size=0):
    """A random tensor with these strides."""
    needed = 1 + extra_size + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if dtype.is_floating_point or dtype.is_complex:
        memory = taeda.randn(needed, dtype=dtype, device=device)
    else:
        memory = taeda.zeros(needed, dtype=dtype, device=device)
    return taeda.as_strided(memory, size, stride)


def standard_test(
    self, fn, nargs, expected_ops=None, expected_ops_dynamic=None, expected_frame_count=1
):
    """Checks, for a unittest.TestCase, a function of tensors against its compiled form."""
    counter = CompileCounter()
    inputs = [[taeda.randn(10, 10) for _ in range(nargs)] for _ in range(2)]
    expected = [fn(*args) for args in inputs]
    reset()
    compiled = optimize_assert(counter)(fn)
    for _ in range(2):
        for args, result in zip(inputs, expected, strict=True):
            self.assertTrue(same(compiled(*args), result))
    reset()
    self.assertEqual(counter.frame_count, expected_frame_count)
    if expected_ops is not None:
        self.assertEqual(counter.op_count, expected_ops)


def unsupported(a, b):
    """A function that captures leave alone."""
    taeda.compiler.graph_break()
    return a


def _marked(name):
    def mark(function):
        setattr(function, name, True)
        return function

    return mark


# Of tests that fail where all sizes are symbols; who makes such tests looks at the mark.
expectedFailureDynamic = _marked("_expected_failure_dynamic")
expectedFailureCodegenDynamic = _marked("_expected_failure_codegen_dynamic")
expectedFailureDynamicWrapper = _marked("_expected_failure_dynamic_wrapper")


def skipIfNotPy311(function):
    """Skips a test before Python 3.11."""
    return unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")(function)


def skipIfNotPy312(function):
    """Skips a test before Python 3.12."""
    return unittest.skipIf(sys.version_info < (3, 12), "needs Python 3.12")(function)


def skipIfPy312(function):
    """Skips a test from Python 3.12 on."""
    return unittest.skipIf(sys.version_info >= (3, 12), "before Python 3.12")(function)


def skipIfOnlyNotPy312(function):
    """Skips a test on every Python but 3.12."""
    return unittest.skipIf(sys.version_info[:2] != (3, 12), "needs Python 3.12")(function)


def xfailIfPy312(function):
    """A test that fails from Python 3.12 on."""
    return unittest.expectedFailure(function) if sys.version_info >= (3, 12) else function
