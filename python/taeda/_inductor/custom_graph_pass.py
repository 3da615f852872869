"""Passes of a program's own, as objects that say what they are: PyTorch's path."""

import hashlib
from abc import ABC, abstractmethod
from functools import lru_cache

__all__ = [
    "CustomGraphPass",
    "CustomInferenceAwareGraphPass",
    "CustomPartitionerFn",
    "CustomPassBase",
    "get_custom_graph_passes",
    "get_hash_for_files",
]


class CustomPassBase(ABC):
    """What all of them have."""

    @abstractmethod
    def uuid(self):
        """What tells this pass from another in keys of caches; None: what it made is not kept."""


class CustomGraphPass(CustomPassBase):
    """A pass for `taeda._inductor.config`: called with a graph, which it changes.

    class MyPass(CustomGraphPass):
        def __call__(self, graph): ...
        def uuid(self): return get_hash_for_files((__file__,))
    """

    @abstractmethod
    def __call__(self, graph):
        """Changes the graph."""


class CustomInferenceAwareGraphPass(CustomGraphPass):
    """One that is told whether the graph belongs to a program without gradients."""

    @abstractmethod
    def __call__(self, graph, is_inference):
        """Changes the graph."""


class CustomPartitionerFn(CustomPassBase):
    """A cut of joint graphs, for `custom_partitioner_fn`; see `taeda._functorch.partitioners`."""

    @abstractmethod
    def __call__(self, gm, joint_inputs, **kwargs):
        """(forward graph module, backward graph module)."""


def get_custom_graph_passes(custom_pass):
    """The passes that a setting names: none, one, or those of a list or tuple."""
    if custom_pass is None:
        return ()
    return tuple(custom_pass) if isinstance(custom_pass, (list, tuple)) else (custom_pass,)


@lru_cache(1)
def get_hash_for_files(paths, extra=""):
    """A hash of the contents of files, and of a text, for `uuid`."""
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.digest()
