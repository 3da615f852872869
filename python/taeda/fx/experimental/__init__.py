"""PyTorch's paths of tracers, passes and symbolic shapes; they lie elsewhere in `taeda.fx`."""

from taeda.utils._config_module import shapes_config as _config

__all__ = ["_config"]
