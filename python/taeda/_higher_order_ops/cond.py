"""PyTorch's path of cond, which is in `taeda.fx.control_flow.branch`."""

from taeda.fx.control_flow.branch import cond, cond_op

__all__ = ["cond", "cond_op"]
