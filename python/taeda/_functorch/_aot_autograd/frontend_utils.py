"""PyTorch's path of what comes before a trace: `taeda.fx.aot.stages`."""

from taeda.fx.aot.stages import construct_fake_mode, process_inputs

__all__ = ["construct_fake_mode", "process_inputs"]
