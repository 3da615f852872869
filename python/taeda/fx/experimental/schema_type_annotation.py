"""PyTorch's path of `taeda.fx.passes.schema_type_annotation`."""

from taeda.fx.passes.schema_type_annotation import AnnotateTypesWithSchema

__all__ = ["AnnotateTypesWithSchema"]
