"""PyTorch's path of comparisons with fake tensors: `taeda.fx.fake.comparison`."""

from taeda.fx.fake.comparison import (
    CrossRefFakeMode,
    output_alias_each_other,
    outputs_alias_inputs,
    outputs_are_inputs,
    try_convert_fake_to_real,
)

__all__ = [
    "CrossRefFakeMode",
    "output_alias_each_other",
    "outputs_alias_inputs",
    "outputs_are_inputs",
    "try_convert_fake_to_real",
]
