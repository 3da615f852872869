"""PyTorch's path of short names of dtypes, f32 for float32, which are those of printed graphs."""

from taeda.fx._code import DTYPE_ABBREVIATIONS as dtype_abbrs

__all__ = ["dtype_abbrs"]
