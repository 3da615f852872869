"""PyTorch's private paths of export, which is in `taeda.export`."""

from taeda._export import wrappers
from taeda.utils._config_module import export_config as config

__all__ = ["config", "wrappers"]
