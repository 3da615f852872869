"""Names of an exported graph's inputs, as PyTorch gives them."""

import inspect
import re
from keyword import iskeyword

import taeda
from taeda.utils import _pytree as pytree


def identifier(text):
    """The text as part of a Python name."""
    return re.sub(r"[^a-zA-Z0-9]", "_", text)


class UniqueNames:
    """Names that are each given once; a number is added to repeated ones."""

    def __init__(self):
        self._used = set()

    def make(self, candidate):
        name, count = candidate, 0
        while name in self._used:
            count += 1
            name = f"{candidate}_{count}"
        self._used.add(name)
        return name


def forward_signature(mod):
    """The signature of the traced function."""
    return inspect.signature(mod.forward if isinstance(mod, taeda.nn.Module) else mod)


def bound_arguments(mod, args, kwargs):
    """[(name, value)] of the arguments as the parameters they fill; `*args` are numbered."""
    signature = forward_signature(mod)
    bound = signature.bind(*args, **kwargs).arguments
    pairs = []
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            pairs += [(f"{name}_{i}", item) for i, item in enumerate(value)]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            pairs += list(value.items())
        else:
            pairs.append((name, value))
    return pairs


def in_call_order(mod, args, kwargs):
    """The keyword arguments in the order of the parameters they fill."""
    order = [name for name, _ in bound_arguments(mod, args, kwargs)]
    return dict(sorted(kwargs.items(), key=lambda item: order.index(item[0])))


def argument_names(in_spec, forward_names):
    """Names of the parameters of a program's forward, positional ones first.

    They become code: RuntimeError for what is no name, which a file may hold.
    """
    args, kwargs = in_spec.children_specs
    names = [*forward_names[: args.num_children], *kwargs.context]
    wrong = [n for n in names if not (isinstance(n, str) and n.isidentifier()) or iskeyword(n)]
    if wrong or len(set(names)) != in_spec.child(0).num_children + kwargs.num_children:
        raise RuntimeError(
            "the arguments of a program need different names that Python allows, got "
            f"{wrong or names}"
        )
    return names


def leaf_names(pairs):
    """A name for each leaf: the parameter's, with the path to the leaf behind it."""
    names = []
    for name, value in pairs:
        for path in _paths(value):
            names.append("_".join([name, *path]).lower() if path else name)
    return names


def _paths(value):
    """The texts of the keys on the way to each leaf."""
    if pytree.tree_is_leaf(value):
        yield ()
        return
    for key, child in _children(value):
        for rest in _paths(child):
            yield (identifier(key), *rest)


def _children(value):
    """(text of the key, child) of a container; numbers where it does not tell keys."""
    node = pytree.node_of(value)
    if node.flatten_with_keys_fn is None:
        return [(str(i), child) for i, child in enumerate(node.flatten_fn(value)[0])]
    return [(_key_text(key), child) for key, child in node.flatten_with_keys_fn(value)[0]]


def _key_text(key):
    if isinstance(key, pytree.SequenceKey):
        return str(key.idx)
    return key.name if isinstance(key, pytree.GetAttrKey) else str(key.key)
