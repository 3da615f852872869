"""Taeda's names of its classes, also where `taeda run` has given them PyTorch's."""

import sys


def own_module(cls):
    """The module of a class or function; `taeda.nn`, not `torch.nn`, for one of Taeda's own."""
    name = cls.__module__
    is_renamed = name == "torch" or name.startswith("torch.")
    if is_renamed and sys.modules.get("torch") is sys.modules["taeda"]:
        return "taeda" + name[len("torch") :]
    return name
