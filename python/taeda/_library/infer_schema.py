"""PyTorch's path of infer_schema, which is in `taeda.library.schemas`."""

from taeda.library.schemas import infer_schema

__all__ = ["infer_schema"]
