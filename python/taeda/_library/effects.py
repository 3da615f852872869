"""PyTorch's path of operators that do more than give results."""

from taeda.fx.effects import EffectType, RegistrationHandle, register_effect

__all__ = ["EffectType", "RegistrationHandle", "register_effect"]
