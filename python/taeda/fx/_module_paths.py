"""Dotted paths in modules: reading, setting, and copying what stands there."""

import taeda
from taeda.nn import Module, Parameter


def _get_attr(module, target):
    """What stands at a dotted path."""
    for part in target.split("."):
        if not hasattr(module, part):
            raise RuntimeError(f"Node referenced nonexistent target {target}")
        module = getattr(module, part)
    return module


def _holder(module, path):
    """The module that holds the last part of a path, with empty modules made on the way."""
    *parts, field = path.split(".")
    for part in parts:
        found = getattr(module, part, None)
        if found is None:
            found = Module()
            setattr(module, part, found)
        module = found
    return module, field


def _assign_attr(value, to_module, target):
    """Sets what stands at a dotted path; a plain tensor becomes a buffer."""
    holder, field = _holder(to_module, target)
    if isinstance(value, taeda.Tensor) and not isinstance(value, Parameter):
        holder.register_buffer(field, value)
    else:
        setattr(holder, field, value)


def _copy_attr(from_module, to_module, target):
    """Gives `to_module` what `from_module` has at a path, unless it has it."""
    *parts, field = target.split(".")
    for part in parts:
        inner, known = getattr(from_module, part), getattr(to_module, part, None)
        if inner is known:
            return
        if known is None:
            known = Module()
            setattr(to_module, part, known)
        from_module, to_module = inner, known
    value = getattr(from_module, field)
    if isinstance(value, taeda.Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def take_from_module(module, root, graph):
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            _copy_attr(root, module, node.target)


def take_from_dict(module, root, graph):
    targets = []
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            if node.target not in root:
                raise RuntimeError(
                    f"Node {node} referenced target {node.target} but that target was not provided "
                    "in ``root``!"
                )
            targets.append(node.target)
    # Outer modules first, so that an inner one is not hidden by the module around it.
    for target in sorted(targets, key=lambda t: t.count(".")):
        _assign_attr(root[target], module, target)
