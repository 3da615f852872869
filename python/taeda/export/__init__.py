"""Programs that leave Python: a module traced to a graph that can be saved and run elsewhere.

program = taeda.export.export(model, (x,))
taeda.export.save(program, "model.pt2")
taeda.export.load("model.pt2").module()(x)
"""

import dataclasses

import taeda
from taeda.export._archive import load, save
from taeda.export._errors import UserError
from taeda.export.decomp_utils import CustomDecompTable
from taeda.export.dynamic_shapes import (
    AdditionalInputs,
    Constraint,
    Dim,
    ShapesCollection,
    dims,
)
from taeda.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    _export_module,
    default_decompositions,
)
from taeda.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from taeda.export.unflatten import FlatArgsAdapter, UnflattenedModule, unflatten
from taeda.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "export",
    "export_for_training",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


class _FunctionModule(taeda.nn.Module):
    """A plain function as the module that export traces."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def export(
    mod,
    args,
    kwargs=None,
    *,
    dynamic_shapes=None,
    strict=False,
    preserve_module_call_signature=(),
    prefer_deferred_runtime_asserts_over_guards=False,
):
    """Traces a module, or a function, on example arguments and gives an ExportedProgram.

    args: a tuple of positional arguments; kwargs: a dict of the others. Tensors in nested
    containers are inputs of the program; numbers and strings are fixed unless `dynamic_shapes`
    says that an integer is dynamic.
    strict: the program's bytecode is captured as one graph first (see docs/compile.md), so that
    whatever a graph cannot hold is an error that names its line; without it, the Python code runs.
    Calls of submodules are not told apart then.
    preserve_module_call_signature: paths of submodules that `unflatten` calls as forward did.
    prefer_deferred_runtime_asserts_over_guards: a program that does not work for all sizes of a
    range is not refused; calls check whether it does for theirs.
    """
    if not isinstance(args, tuple):
        raise UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    if not isinstance(mod, taeda.nn.Module):
        if not callable(mod):
            raise ValueError(
                f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
            )
        mod = _FunctionModule(mod)
    kwargs = dict(kwargs or {})
    if strict:
        from taeda.compiler._export import strict_module

        captured = strict_module(mod, args, kwargs)
        # Who asks for the calls of submodules gets the trace of the program itself.
        mod = mod if preserve_module_call_signature else captured
    program = _export_module(
        mod,
        args,
        kwargs,
        dynamic_shapes,
        preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards,
    )
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


export_for_training = export


def register_dataclass(cls, *, serialized_type_name=None):
    """Makes a dataclass a container whose fields may be inputs and outputs of programs."""
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    name = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"
    pytree.register_dataclass(cls, serialized_type_name=name)
