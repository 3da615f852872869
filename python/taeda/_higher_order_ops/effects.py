"""PyTorch's path of operators with effects: `taeda._library.effects`."""

from taeda._library.effects import EffectType as _EffectType
from taeda._library.effects import register_effect as _register_effectful_op

__all__ = ["_EffectType", "_register_effectful_op"]
