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
    _copy(target, {"": (from_module, to_module)})


def _copy(target, holders):
    """The same, between the pairs of modules in `holders`, which are found once for each path."""
    path, _, field = target.rpartition(".")
    source, made = holders.get(path) or _find_holders(path, holders)
    # The module around it was taken whole.
    if source is made:
        return
    value = getattr(source, field)
    if isinstance(value, Module):
        made._set_child(field, value)
    elif isinstance(value, taeda.Tensor) and not isinstance(value, Parameter):
        made.register_buffer(field, value)
    else:
        setattr(made, field, value)


def _find_holders(path, holders):
    outer, _, field = path.rpartition(".")
    source, made = holders.get(outer) or _find_holders(outer, holders)
    inner, known = getattr(source, field), getattr(made, field, None)
    if known is None:
        known = Module()
        made._set_child(field, known)
    holders[path] = (inner, known)
    return inner, known


def _check_free(module, target):
    """Raises where the path begins with a name that the module's class uses itself."""
    name = target.partition(".")[0]
    if name == "meta" or (hasattr(type(module), name) and not hasattr(Module, name)):
        raise RuntimeError(
            f"the graph uses {target!r}, but {name!r} is an attribute that every GraphModule has "
            "for itself; rename the one of the traced module, or put the module into another one"
        )


def take_from_module(module, root, graph):
    """Gives a module what the nodes of a graph name in another one."""
    holders = {"": (root, module)}
    used = (n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
    for target in dict.fromkeys(used):
        _check_free(module, target)
        _copy(target, holders)


def take_from_dict(module, root, graph):
    """Gives a module what the nodes of a graph name, from a dict of paths."""
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
        _check_free(module, target)
        _assign_attr(root[target], module, target)
