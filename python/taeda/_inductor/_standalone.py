"""Graphs compiled to artifacts, which run by themselves and may be written to a file."""

import copy

import taeda
from taeda.fx.graph_module import GraphModule

from . import aoti_compile_and_package, aoti_load_package
from .compile_fx import compile_fx

__all__ = ["CompiledArtifact", "standalone_compile"]


class CompiledArtifact:
    """A compiled graph: called with the graph's inputs, it gives the graph's results."""

    def __init__(self, run, write=None):
        self._run = run
        self._write = write

    def __call__(self, *args):
        return self._run(*args)

    def save(self, *, path, format="binary"):
        """Writes one file, which `load` reads: of a graph without symbols and without gradients."""
        if format != "binary":
            raise NotImplementedError(f'an artifact is one file: format="binary", not {format!r}')
        if self._write is None:
            raise NotImplementedError("an artifact that was loaded is in its file")
        with open(path, "wb") as file:
            self._write(file)

    @staticmethod
    def load(*, path, format="binary"):
        """The artifact of a file."""
        if format != "binary":
            raise NotImplementedError(f'an artifact is one file: format="binary", not {format!r}')
        with open(path, "rb") as file:
            return CompiledArtifact(aoti_load_package(file))


def _for_these_inputs(gm):
    """The graph without what it knows of its inputs."""
    bare = GraphModule(gm, copy.deepcopy(gm.graph))
    for node in bare.graph.find_nodes(op="placeholder"):
        node.meta.pop("val", None)
    return bare


def standalone_compile(gm, example_inputs, *, dynamic_shapes="from_graph", options=None):
    """Compiles a graph for inputs like these: a `CompiledArtifact`.

    dynamic_shapes: sizes are symbols where the graph has them ("from_graph"), where the inputs have
        them ("from_tracing_context"), or nowhere ("from_example_inputs").
    options: settings of `taeda._inductor.config`.
    """
    if dynamic_shapes == "from_example_inputs":
        gm = _for_these_inputs(gm)
    elif dynamic_shapes not in ("from_graph", "from_tracing_context"):
        raise ValueError(
            f"standalone_compile got unsupported `dynamic_shapes` value: "
            f"dynamic_shapes={dynamic_shapes}."
        )
    inputs = tuple(example_inputs)

    def write(file):
        tensors = [x for x in inputs if isinstance(x, taeda.Tensor)]
        if len(tensors) < len(inputs) or any(taeda._C._fx.is_fake(x) for x in tensors):
            raise NotImplementedError("an artifact is written of a graph of tensors with elements")
        if any(x.requires_grad for x in tensors):
            raise NotImplementedError("an artifact with gradients is not written to a file")
        program = taeda.export.export(gm, inputs, strict=False)
        aoti_compile_and_package(program, package_path=file, inductor_configs=options)

    return CompiledArtifact(compile_fx(gm, example_inputs, config_patches=options), write)
