"""PyTorch's private paths of function transforms (`taeda.func`) and of settings."""

from taeda.utils._config_module import functorch_config as config

__all__ = ["config"]
