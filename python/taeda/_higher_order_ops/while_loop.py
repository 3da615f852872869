"""PyTorch's path of while_loop, which is in `taeda.fx.control_flow.loop`."""

from taeda.fx.control_flow.loop import while_loop, while_loop_op, while_loop_stack_output_op

__all__ = ["while_loop", "while_loop_op", "while_loop_stack_output_op"]
