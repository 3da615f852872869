"""PyTorch's path of the cache of traced programs."""

from taeda.fx.aot.cache import AOTAutogradCache

__all__ = ["AOTAutogradCache"]
