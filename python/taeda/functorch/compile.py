"""PyTorch's path of programs that are traced ahead of time: `taeda.fx.aot`."""

from taeda.fx.aot import *  # noqa: F403
from taeda.fx.aot import __all__ as _names
from taeda.fx.aot.compilers import nnc_jit
from taeda.utils._config_module import functorch_config as config

__all__ = [*_names, "config", "nnc_jit"]
