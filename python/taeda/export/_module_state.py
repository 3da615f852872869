"""The tensors of a module by name, and standing in for them while the module is traced."""

import contextlib
import dataclasses
import warnings

import taeda
from taeda.export.graph_signature import InputKind


@dataclasses.dataclass
class Held:
    """A tensor that a module holds."""

    kind: InputKind
    name: str
    tensor: taeda.Tensor
    persistent: bool | None = None


def held_tensors(mod):
    """Parameters, buffers, then tensors in plain attributes, each in the order of the modules."""
    found = [
        Held(InputKind.PARAMETER, *item) for item in mod.named_parameters(remove_duplicate=False)
    ]
    hidden = _hidden_buffers(mod)
    found += [
        Held(InputKind.BUFFER, name, tensor, name not in hidden)
        for name, tensor in mod.named_buffers(remove_duplicate=False)
    ]
    for prefix, child in mod.named_modules(remove_duplicate=False):
        for name, value in vars(child).items():
            if isinstance(value, taeda.Tensor):
                path = f"{prefix}.{name}" if prefix else name
                found.append(Held(InputKind.CONSTANT_TENSOR, path, value))
    return found


def _hidden_buffers(mod):
    return {
        f"{prefix}.{name}" if prefix else name
        for prefix, child in mod.named_modules(remove_duplicate=False)
        for name in child._non_persistent_buffers_set
    }


def _slot(mod, held):
    """The dict that holds the tensor, and its key there."""
    prefix, _, name = held.name.rpartition(".")
    owner = mod.get_submodule(prefix)
    if held.kind is InputKind.PARAMETER:
        return owner._parameters, name
    return (owner._buffers if held.kind is InputKind.BUFFER else vars(owner)), name


@contextlib.contextmanager
def standing_in(mod, held, stand_ins):
    """Puts other tensors in the places; gives a function that reads the present ones."""
    slots = [_slot(mod, h) for h in held]
    known = {id(child): set(vars(child)) for child in mod.modules()}
    for (place, name), tensor in zip(slots, stand_ins, strict=True):
        place[name] = tensor
    try:
        yield lambda: [place[name] for place, name in slots]
        _warn_of_new_tensors(mod, known, _assigned_constants(held, slots, stand_ins))
    finally:
        for (place, name), h in zip(slots, held, strict=True):
            place[name] = h.tensor
        _remove_new_tensors(mod, known)


def _new_tensors(mod, known):
    return [
        (child, name)
        for child in mod.modules()
        for name, value in vars(child).items()
        if isinstance(value, taeda.Tensor) and name not in known.get(id(child), ())
    ]


def _assigned_constants(held, slots, stand_ins):
    return [
        h.name
        for h, (place, name), tensor in zip(held, slots, stand_ins, strict=True)
        if h.kind is InputKind.CONSTANT_TENSOR and place[name] is not tensor
    ]


def _warn_of_new_tensors(mod, known, assigned):
    """A tensor kept in an attribute that is no buffer is lost with the trace."""
    names = [*assigned, *(name for _, name in _new_tensors(mod, known))]
    if names:
        plural, were = ("s", "were") if len(names) > 1 else ("", "was")
        listed = ", ".join(f"self.{name}" for name in names)
        warnings.warn(
            f"The tensor attribute{plural} {listed} {were} assigned "
            "during export. Such attributes must be registered as buffers using the "
            "`register_buffer` API (https://pytorch.org/docs/stable/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_buffer).",
            stacklevel=2,
        )


def _remove_new_tensors(mod, known):
    for child, name in _new_tensors(mod, known):
        delattr(child, name)
