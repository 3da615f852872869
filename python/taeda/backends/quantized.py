"""The engine of quantized operators: there are none, and `none` is the only one."""

import sys
import types

supported_engines = ["none"]


class _Quantized(types.ModuleType):
    @property
    def engine(self):
        """The engine that quantized operators use."""
        return "none"

    @engine.setter
    def engine(self, name):
        if name not in supported_engines:
            raise RuntimeError(f"quantized engine {name} is not supported")


sys.modules[__name__].__class__ = _Quantized
