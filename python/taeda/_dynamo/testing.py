"""PyTorch's path of backends that count and of helpers of tests: `taeda.compiler._testing`."""

from taeda._dynamo.utils import same
from taeda.compiler._testing import (
    AotEagerAndRecordGraphs,
    CompileCounter,
    CompileCounterWithBackend,
    EagerAndRecordGraphs,
    expectedFailureDynamic,
    normalize_gm,
    rand_strided,
    reduce_to_scalar_loss,
    skipIfNotPy311,
    skipIfNotPy312,
    skipIfPy312,
    standard_test,
    three,
    unsupported,
)
from taeda.testing.patched_classes import make_test_cls_with_patches

__all__ = [
    "AotEagerAndRecordGraphs",
    "CompileCounter",
    "CompileCounterWithBackend",
    "EagerAndRecordGraphs",
    "expectedFailureDynamic",
    "make_test_cls_with_patches",
    "normalize_gm",
    "rand_strided",
    "reduce_to_scalar_loss",
    "same",
    "skipIfNotPy311",
    "skipIfNotPy312",
    "skipIfPy312",
    "standard_test",
    "three",
    "unsupported",
]
