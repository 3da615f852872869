"""Event files for TensorBoard, with PyTorch's names; neither TensorBoard nor protobuf is needed."""

from taeda.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
