"""PyTorch's path of cuts of joint graphs: `taeda.fx.aot.partitioners`."""

from taeda.fx.aot.partitioners import default_partition, min_cut_rematerialization_partition

__all__ = ["default_partition", "min_cut_rematerialization_partition"]
