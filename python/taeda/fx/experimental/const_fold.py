"""PyTorch's path of constant folding: `taeda.fx.passes.constant_folding`."""

from taeda.fx.passes.constant_folding import (
    FoldedGraphModule,
    get_unique_attr_name_in_module,
    split_const_subgraphs,
)

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]
