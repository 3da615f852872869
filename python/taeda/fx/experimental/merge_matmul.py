"""PyTorch's path of `taeda.fx.passes.merge_matmul`."""

from taeda.fx.passes.merge_matmul import (
    are_nodes_independent,
    may_depend_on,
    merge_matmul,
    split_result_tensors,
)

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]
