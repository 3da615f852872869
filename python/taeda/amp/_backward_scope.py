"""Autocast while the gradients of a compiled program are traced."""

import contextlib

import taeda

__all__ = ["backward_scope"]


def backward_scope(setting):
    """What a value of `config.backward_pass_autocast` sets for traced gradients; None: nothing."""
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
