"""Extensions built ahead of time, by a setup.py."""

import re
import subprocess
from pathlib import Path

import setuptools
from setuptools.command.build_ext import build_ext

from taeda.utils import _extension_toolchain as toolchain
from taeda.utils._extension_build import is_cuda_source


def _with_paths(device_type, kwargs):
    kwargs["include_dirs"] = [
        *kwargs.get("include_dirs", []),
        *toolchain.header_folders(device_type),
    ]
    kwargs["library_dirs"] = [
        *kwargs.get("library_dirs", []),
        *toolchain.library_folders(device_type),
    ]
    kwargs["runtime_library_dirs"] = [
        *kwargs.get("runtime_library_dirs", []),
        str(toolchain.package_folder()),
    ]
    libraries = ["taeda"] if device_type == "cpu" else ["taeda", "cudart"]
    kwargs["libraries"] = [*kwargs.get("libraries", []), *libraries]
    kwargs["language"] = "c++"
    return kwargs


def CppExtension(name, sources, *args, **kwargs):
    """A setuptools.Extension with the paths and flags of a C++ extension."""
    return setuptools.Extension(name, sources, *args, **_with_paths("cpu", kwargs))


def CUDAExtension(name, sources, *args, **kwargs):
    """The same with CUDA: sources may be .cu files, which nvcc compiles."""
    return setuptools.Extension(name, sources, *args, **_with_paths("cuda", kwargs))


class BuildExtension(build_ext):
    """The build_ext command that knows the flags, and .cu files.

    `extra_compile_args` is a list for both compilers, or a dict with the keys `cxx` and `nvcc`.
    An object is compiled again when its source, a header or a flag changed, or with --force.
    """

    @classmethod
    def with_options(cls, **options):
        """The class with options set: `no_python_abi_suffix`; `use_ninja` is accepted."""

        class WithOptions(cls):
            def __init__(self, *args, **kwargs):
                kwargs.update(options)
                super().__init__(*args, **kwargs)

        return WithOptions

    def __init__(self, *args, **kwargs):
        self.no_python_abi_suffix = kwargs.pop("no_python_abi_suffix", False)
        self.use_ninja = kwargs.pop("use_ninja", True)
        super().__init__(*args, **kwargs)

    def finalize_options(self):
        super().finalize_options()
        # setuptools looks at sources alone; with `force` every object is asked below.
        self._compiles_all = bool(self.force)
        self.force = True

    def build_extensions(self):
        self.compiler.src_extensions += [".cu", ".cuh"]
        compile_one = self.compiler._compile

        def compile_any(obj, src, ext, cc_args, extra_postargs, pp_opts):
            is_cuda = is_cuda_source(src)
            flags = extra_postargs or []
            if isinstance(flags, dict):
                flags = flags["nvcc" if is_cuda else "cxx"]
            command = repr(
                (src, cc_args, pp_opts, flags, toolchain.CXX_FLAGS, toolchain.library_identity())
            )
            if not self._compiles_all and _is_fresh(obj, command):
                return
            if is_cuda:
                self._compile_cuda(obj, src, pp_opts, flags)
            else:
                flags = [*toolchain.CXX_FLAGS, "-MMD", "-MF", f"{obj}.d", *flags]
                compile_one(obj, src, ext, cc_args, flags, pp_opts)
            Path(f"{obj}.command").write_text(command)

        self.compiler._compile = compile_any
        for extension in self.extensions:
            self._prepare(extension)
        super().build_extensions()

    @staticmethod
    def _prepare(extension):
        args = extension.extra_compile_args
        if isinstance(args, dict):
            for key in ("cxx", "nvcc"):
                args.setdefault(key, [])
        name = extension.name.rpartition(".")[2]
        extension.define_macros = [
            *(extension.define_macros or []),
            ("TORCH_EXTENSION_NAME", name),
        ]

    @staticmethod
    def _compile_cuda(obj, src, pp_opts, flags):
        command = [
            toolchain.nvcc_compiler(),
            *pp_opts,
            "-O2",
            *toolchain.NVCC_FLAGS,
            *toolchain.architecture_flags(),
            "--compiler-options=-fPIC",
            "--generate-dependencies-with-compile",
            "--dependency-output",
            f"{obj}.d",
            *flags,
            "-c",
            src,
            "-o",
            obj,
        ]
        subprocess.run(command, check=True)

    def get_ext_filename(self, fullname):
        filename = super().get_ext_filename(fullname)
        if not self.no_python_abi_suffix:
            return filename
        parts = filename.split(".")
        return ".".join([*parts[:-2], parts[-1]])


def _is_fresh(obj, command):
    """Whether an object was made by this command and is newer than all that it was made of."""
    made, record, dependencies = Path(obj), Path(f"{obj}.command"), Path(f"{obj}.d")
    if not (made.exists() and record.exists() and dependencies.exists()):
        return False
    if record.read_text() != command:
        return False
    names = dependencies.read_text().partition(":")[2].replace("\\\n", " ")
    files = [Path(n.replace("\\ ", " ")) for n in re.split(r"(?<!\\)\s+", names) if n]
    stamp = made.stat().st_mtime_ns
    return all(f.exists() and f.stat().st_mtime_ns <= stamp for f in files)
