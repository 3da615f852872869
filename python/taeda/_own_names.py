"""Taeda's names of its classes, also where `taeda run` has given them PyTorch's."""

import sys


def own_module(cls):
    """The module of a class or function; `taeda.nn`, not `torch.nn`, for one of Taeda's own."""
    name = cls.__module__
    is_renamed = name == "torch" or name.startswith("torch.")
    if is_renamed and sys.modules.get("torch") is sys.modules["taeda"]:
        return "taeda" + name[len("torch") :]
    return name


def adopt_private_classes(namespace):
    """Makes a public module the home of the classes that it takes from private modules beside it.

    It is called at the end of the module, with its globals. Pickles, and with them files that
    PyTorch reads, name a class by its home.
    """
    home, package = namespace["__name__"], namespace["__package__"]
    for name, value in namespace.items():
        if not isinstance(value, type) or value.__name__ != name:
            continue
        folder, _, file = own_module(value).rpartition(".")
        if folder == package and file.startswith("_"):
            value.__module__ = home
