"""Modules as arguments of an exported program: containers of their parameters and buffers.

program = export(model, (x, adapter))
program.module()(x, another_adapter)      # of the same class, with other weights
"""

import contextlib
import copy
import dataclasses

import taeda
from taeda.utils import _pytree as pytree

__all__ = ["module_inputs"]


@dataclasses.dataclass(frozen=True)
class _Structure:
    """What a module is beside its tensors; two are equal if they name the same tensors."""

    names: tuple  # of the tensors, parameters first
    skeleton: taeda.nn.Module = dataclasses.field(compare=False)  # the module without them


@contextlib.contextmanager
def module_inputs(*trees):
    """The classes of the modules among the leaves are containers meanwhile."""
    leaves = pytree.tree_leaves(trees)
    classes = {type(leaf) for leaf in leaves if isinstance(leaf, taeda.nn.Module)}
    for cls in classes:
        pytree.register_pytree_node(
            cls, _flatten, _unflatten, flatten_with_keys_fn=_flatten_with_keys
        )
    try:
        yield
    finally:
        for cls in classes:
            pytree._deregister_pytree_node(cls)


def _tensors(module):
    """{name: tensor}, parameters first."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _flatten(module):
    tensors = _tensors(module)
    nothing = dict.fromkeys(tensors)
    return list(tensors.values()), _Structure(tuple(tensors), _with_tensors(module, nothing))


def _flatten_with_keys(module):
    children, structure = _flatten(module)
    keys = map(pytree.GetAttrKey, structure.names)
    return list(zip(keys, children, strict=True)), structure


def _unflatten(children, structure):
    return _with_tensors(structure.skeleton, dict(zip(structure.names, children, strict=True)))


def _with_tensors(module, tensors, prefix=""):
    """A copy that shares all but the tensors, which are these."""
    made = copy.copy(module)
    for field in ("_parameters", "_buffers"):
        held = vars(module)[field]
        vars(made)[field] = {n: tensors.get(prefix + n, t) for n, t in held.items()}
    children = module._modules.items()
    vars(made)["_modules"] = {
        n: c if c is None else _with_tensors(c, tensors, f"{prefix}{n}.") for n, c in children
    }
    return made
