"""PyTorch's path of the rules by which operators run on fake tensors: `taeda.fx.fake`."""

from taeda.fx.fake.operator_kinds import get_fast_op_impls

__all__ = ["get_fast_op_impls"]
