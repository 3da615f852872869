"""PyTorch's path of cuts of joint graphs: `taeda.fx.aot.partitioners`."""

from taeda.fx.aot.partitioners import default_partition, min_cut_rematerialization_partition
from taeda.fx.operator_trace import is_sym_node
from taeda.utils.checkpoint import CheckpointPolicy

__all__ = [
    "CheckpointPolicy",
    "default_partition",
    "is_sym_node",
    "min_cut_rematerialization_partition",
]
