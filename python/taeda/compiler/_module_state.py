"""What modules hold besides parameters, buffers and modules, to be put back behind a call."""

import taeda

__all__ = ["Attributes"]

_CONTAINERS = (list, dict, set)


class Attributes:
    """The attributes of a module and of the modules in it, and what lists, dicts and sets hold."""

    def __init__(self, module):
        own = vars(taeda.nn.Module())
        self._modules = [(each, dict(vars(each))) for each in module.modules()]
        held = {
            id(value): value
            for _, names in self._modules
            for name, value in names.items()
            if name not in own and type(value) in _CONTAINERS
        }
        self._contents = [(value, value.copy()) for value in held.values()]

    def restore(self):
        """Puts everything back."""
        for module, before in self._modules:
            names = vars(module)
            for name in names.keys() - before.keys():
                del names[name]
            names.update(before)
        for container, before in self._contents:
            container.clear()
            (container.extend if type(container) is list else container.update)(before)
