"""Programs compiled ahead of time: one file that runs without Python and without a compiler.

    path = taeda._inductor.aoti_compile_and_package(program, package_path="model.pt2")
    model = taeda._inductor.aoti_load_package(path)
    model(x)

The file and what runs it are C++'s (`taeda/inductor/package.h`).
"""

import io
import os
import sys
import tempfile

from taeda import _C
from taeda.export._archive import archive_parts
from taeda.export._unlift import ArgumentOrder
from taeda.export.exported_program import ExportedProgram
from taeda.utils import _pytree as pytree
from taeda.utils._config_module import inductor_config as config

__all__ = ["AOTICompiledModel", "load_package"]

# Passes are functions of Python, and a package makes its plans without it.
PASSES = (
    "pre_grad_custom_pass",
    "joint_custom_pre_pass",
    "joint_custom_post_pass",
    "post_grad_custom_pre_pass",
    "post_grad_custom_post_pass",
)


def compile_and_package(program, package_path=None, inductor_configs=None):
    """Writes the program with its kernels; see `taeda._inductor.aoti_compile_and_package`."""
    if not isinstance(program, ExportedProgram):
        raise ValueError("Only ExportedProgram is supported")
    if program.example_inputs is None:
        raise RuntimeError(
            "exported_program.example_inputs is required to be set in order "
            "for AOTInductor compilation."
        )
    _check_path(package_path)
    settings = dict(inductor_configs or {})
    if settings.get("aot_inductor.output_path"):
        raise RuntimeError(
            "Please pass in a package path to aot_inductor_compile() instead "
            "of setting the aot_inductor.output_path config."
        )
    with config.patch(settings):
        return _write(program, package_path)


def _check_path(path):
    is_buffer = isinstance(path, io.IOBase) and path.writable() and path.seekable()
    is_path = isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(".pt2")
    if path is not None and not is_buffer and not is_path:
        raise AssertionError(
            "Expect package path to be a file ending in .pt2, is None, or is a buffer. "
            f"Instead got {path}"
        )


def _check_lowerings(program):
    """Refuses calls that a function of Python lowers."""
    module = sys.modules.get("taeda._inductor.lowering")
    if module is None:
        return
    for node in program.graph.find_nodes(op="call_function"):
        if node.target in module.lowerings or node.target in module.fallbacks:
            raise NotImplementedError(
                f"a package is compiled without Python, so the lowering of {node.target} cannot be "
                "part of it; call what it calls in the exported program instead"
            )


def _write(program, path):
    for name in PASSES:
        if getattr(config, name) is not None:
            raise NotImplementedError(
                f"a package is compiled without Python, so config.{name} cannot be part of it; "
                "change the exported program instead"
            )
    _check_lowerings(program)
    metadata = getattr(config, "aot_inductor.metadata")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(
                f"aot_inductor.metadata holds texts by name: got {key!r}: {value!r}; write other "
                "values as texts, with json.dumps for example"
            )
    examples = ArgumentOrder(program.call_spec.in_spec).leaves(*program.example_inputs)
    parts = (examples, metadata, *archive_parts(program))
    if isinstance(path, io.IOBase):
        written = _C._inductor.save_package(None, *parts)
        path.write(written)
        _show(written)
        return path
    if path is None:
        path = os.path.join(tempfile.mkdtemp(prefix="taeda_package_"), "model.pt2")
    _C._inductor.save_package(os.fspath(path), *parts)
    _show(os.fspath(path))
    return path


def _show(source):
    """Prints stages of a package that was written, as the logs that are wanted say."""
    from taeda.utils._compile_logs import wanted

    logs = wanted()
    if logs:
        from . import _logs

        _logs.show(AOTICompiledModel(source), logs)


class AOTICompiledModel:
    """A program from a package: called with the arguments of the exported module."""

    def __init__(self, source):
        self._run, self._package, self._constants, notes, self._metadata, self.problem = (
            _C._inductor.load_package(source)
        )
        try:
            self._order = ArgumentOrder(pytree.treespec_loads(notes["in_spec"]))
            self._out_spec = pytree.treespec_loads(notes["out_spec"])
        except (KeyError, TypeError, ValueError) as error:
            raise RuntimeError(f"cannot read the notes of the package: {error!r}") from error

    def __call__(self, *args, **kwargs):
        results = self._run(*self._order.leaves(args, kwargs))
        return pytree.tree_unflatten(results, self._out_spec)

    def get_metadata(self):
        """What `aot_inductor.metadata` said when the package was written."""
        return dict(self._metadata)

    def get_constant_fqns(self):
        """The names of parameters, buffers and constants."""
        return list(self._constants)

    def load_constants(
        self, constants_map, *, check_full_update, user_managed=False, allow_h2d_copy=False
    ):
        """Copies tensors into those of the package, by name; all of them or none.

        check_full_update: whether each name must be given.
        """
        for name in constants_map:
            if not isinstance(name, str):
                raise TypeError(f"a constant of a package has a text as its name, got {name!r}")
        if user_managed:
            raise NotImplementedError("a package keeps its own tensors: user_managed=False")
        _C._inductor.load_constants(self._package, dict(constants_map), bool(check_full_update))

    @property
    def _plan(self):
        return self._run

    def report(self):
        """A dict per plan; see docs/compiler.md."""
        from ._report import complete

        return complete(self._run)

    @property
    def interpreted_runs(self):
        """The number of runs of inputs that the plans are not made for."""
        return _C._inductor.interpreted_runs(self._package)

    def __deepcopy__(self, memo=None):
        return self


def load_package(
    path, model_name="model", run_single_threaded=False, num_runners=1, device_index=-1
):
    """The program of a package, at a path or in a binary file.

    Runs have memory of their own: any number of threads may call it, whatever the other arguments
    say.
    """
    if model_name != "model":
        raise RuntimeError(f"Model {model_name} not found in package")
    if isinstance(path, (str, os.PathLike)):
        source = os.fspath(path)
        open(source, "rb").close()  # raises Python's error for a file that cannot be opened
        return AOTICompiledModel(source)
    path.seek(0)
    return AOTICompiledModel(path.read())
