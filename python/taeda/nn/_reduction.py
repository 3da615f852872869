"""PyTorch's path of how a loss is reduced: names, numbers and the older flags."""

from taeda.nn._reductions import legacy_get_enum, legacy_get_string
from taeda.nn._reductions import reduction_number as get_enum

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]
