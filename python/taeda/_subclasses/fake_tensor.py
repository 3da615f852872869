"""PyTorch's path of fake tensors, which are in `taeda.fx.fake`."""

from taeda.fx.fake.modes import (
    get_plain_tensors,
    in_kernel_invocation_manager,
    is_fake,
    maybe_get_fake_mode,
    unset_fake_temporarily,
)
from taeda.fx.fake.operator_kinds import found_set
from taeda.fx.fake.operator_kinds import is_tensor_constructor as _is_tensor_constructor
from taeda.fx.fake.tensors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorConverter,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedMutationAliasingException,
    UnsupportedOperatorException,
)

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedMutationAliasingException",
    "UnsupportedOperatorException",
    "_is_tensor_constructor",
    "get_plain_tensors",
    "in_kernel_invocation_manager",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


def __getattr__(name):
    return found_set(name, __name__)
