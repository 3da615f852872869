"""The class that a module has while a tensor of it is parametrized."""

from copy import deepcopy
from copyreg import _slotnames


def _refuse_pickle(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _copied(self, memo):
    """A deep copy; the way over __getstate__ is closed."""
    if id(self) in memo:
        return memo[id(self)]
    replica = self.__new__(type(self))
    memo[id(self)] = replica
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in _slotnames(type(self)):
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def inject_class(module):
    """Gives the module a subclass of its class, to hold properties."""
    cls = type(module)
    members = {"__getstate__": _refuse_pickle, "__module__": f"{__package__}.parametrize"}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def inject_property(module, name, value_of):
    """Makes the name a property: reading computes the tensor, assigning goes to the inverse."""
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def read(self):
        try:
            return value_of(self, name)
        except AttributeError as error:
            # Python would take it for a missing attribute of the module and drop the text.
            raise RuntimeError(f"[{name}] the parametrization failed: {error}") from error

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def remove_property(module, name):
    """Takes the property off again."""
    delattr(type(module), name)
