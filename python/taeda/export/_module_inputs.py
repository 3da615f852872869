"""Modules as arguments of an exported program: containers of their parameters and buffers.

program = export(model, (x, adapter))
program.module()(x, another_adapter)      # of the same class, with other weights
"""

import contextlib
import copy
import dataclasses
import json
import sys
import weakref

import taeda
from taeda.utils import _pytree as pytree

__all__ = ["has_modules", "module_inputs", "read_spec", "written_spec"]

# Classes of module arguments by their names in files, for those that no module holds by name.
_SEEN = weakref.WeakValueDictionary()


@dataclasses.dataclass(frozen=True)
class _Structure:
    """What a module is beside its tensors; two are equal if they name the same tensors."""

    names: tuple  # of the tensors, parameters first
    # The module without them; None in a spec that was read from a file.
    skeleton: taeda.nn.Module | None = dataclasses.field(compare=False)


def module_inputs(*trees):
    """A context in which the classes of the modules among the leaves are containers."""
    leaves = pytree.tree_leaves(trees)
    return _containers({type(leaf) for leaf in leaves if isinstance(leaf, taeda.nn.Module)})


def has_modules(spec):
    """Whether modules are containers in the spec."""
    return bool(_module_classes(spec))


def written_spec(spec):
    """The spec as text, in which a module is the name of its class and the names of its tensors."""
    with _containers(_module_classes(spec)):
        return pytree.treespec_dumps(spec)


def read_spec(text):
    """The spec of a text; the classes of modules in it must have been imported."""
    names = {part["type"] for part in _written_parts(json.loads(text)[1])}
    with _containers({cls for cls in map(_class_named, names) if _is_module_class(cls)}):
        return pytree.treespec_loads(text)


@contextlib.contextmanager
def _containers(classes):
    classes = [cls for cls in classes if cls not in pytree.SUPPORTED_NODES]
    for cls in classes:
        name = f"{cls.__module__}.{cls.__qualname__}"
        _SEEN[name] = cls
        pytree.register_pytree_node(
            cls,
            _flatten,
            _unflatten,
            serialized_type_name=name,
            to_dumpable_context=lambda structure: json.dumps([structure.names, None]),
            from_dumpable_context=lambda text: _Structure(tuple(json.loads(text)[0]), None),
            flatten_with_keys_fn=_flatten_with_keys,
        )
    try:
        yield
    finally:
        for cls in classes:
            pytree._deregister_pytree_node(cls)


def _module_classes(spec):
    return {part.type for part in _parts(spec) if _is_module_class(part.type)}


def _parts(spec):
    """The spec and all specs inside it."""
    yield spec
    for child in spec.children_specs:
        yield from _parts(child)


def _written_parts(data):
    yield data
    for child in data["children_spec"]:
        yield from _written_parts(child)


def _is_module_class(cls):
    return isinstance(cls, type) and issubclass(cls, taeda.nn.Module)


def _class_named(name):
    """What an imported module has under a full name; None if there is nothing. Imports nothing."""
    if name is None or name in _SEEN:
        return _SEEN.get(name)
    module, _, path = name.rpartition(".")
    while module and module not in sys.modules:
        module, _, first = module.rpartition(".")
        path = f"{first}.{path}"
    found = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


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
    if structure.skeleton is None:
        raise RuntimeError(
            "a module argument of a program that was read from a file cannot be put together: "
            "the file holds the names of its tensors only"
        )
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
