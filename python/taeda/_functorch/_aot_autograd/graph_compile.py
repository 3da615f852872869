"""PyTorch's path of the stages of a compilation: `taeda.fx.aot.stages`."""

from taeda.fx.aot.stages import aot_stage1_graph_capture, aot_stage2_compile

__all__ = ["aot_stage1_graph_capture", "aot_stage2_compile"]
