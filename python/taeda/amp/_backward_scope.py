"""Autocast while the gradients of a compiled program are traced."""

import contextlib

import taeda
from taeda.utils._config_module import functorch_config

__all__ = ["backward_scope"]


def backward_scope():
    """What `config.backward_pass_autocast` sets while gradients are traced; None: nothing."""
    setting = functorch_config.backward_pass_autocast
    if setting == "same_as_forward":
        return None
    if setting == "off":
        setting = [{"device_type": kind, "enabled": False} for kind in ("cpu", "cuda")]

    def enter():
        with contextlib.ExitStack() as scopes:
            for options in setting:
                scopes.enter_context(taeda.autocast(**options))
            return scopes.pop_all().close

    return enter
