"""C++ and CUDA extensions: built when they are loaded, or ahead of time through setuptools.

`load` and `load_inline` compile sources and import the result; what is up to date is not built
again. `CppExtension`, `CUDAExtension` and `BuildExtension` go into a setup.py.
"""

import os
from pathlib import Path

from taeda.utils import _extension_build as jit
from taeda.utils import _extension_toolchain as toolchain
from taeda.utils._extension_toolchain import (
    get_compiler_abi_compatibility_and_version,
    is_ninja_available,
    verify_ninja_availability,
)

__all__ = [
    "CUDA_HOME",
    "IS_HIP_EXTENSION",
    "IS_WINDOWS",
    "LIB_EXT",
    "ROCM_HOME",
    "BuildExtension",  # noqa: F822 (this and the next two: see __getattr__)
    "CUDAExtension",  # noqa: F822
    "CppExtension",  # noqa: F822
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

CUDA_HOME = toolchain.find_cuda_home()
# Names that scripts ask for before they choose: there is no build for ROCm or Windows.
ROCM_HOME = None
IS_HIP_EXTENSION = False
IS_WINDOWS = False
LIB_EXT = ".so"


def include_paths(device_type="cpu", torch_include_dirs=True):
    """The folders with the headers that extensions include."""
    return toolchain.header_folders(device_type)


def library_paths(device_type="cpu", torch_include_dirs=True, cross_target_platform=None):
    """The folders with the libraries that extensions link to."""
    return toolchain.library_folders(device_type)


def get_default_build_root():
    """The folder that holds a folder for each extension."""
    return str(jit.default_folder("_").parent)


def check_compiler_ok_for_platform(compiler):
    """Whether a compiler can be run and is one that Taeda knows."""
    return toolchain.compiler_version(compiler)[0] in ("g++", "clang++")


def load(
    name,
    sources,
    extra_cflags=None,
    extra_cuda_cflags=None,
    extra_sycl_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    build_directory=None,
    verbose=False,
    with_cuda=None,
    with_sycl=None,
    is_python_module=True,
    is_standalone=False,
    keep_intermediates=True,
):
    """Builds and loads an extension; returns its module.

    With `is_python_module=False` the shared object is loaded for the operators that it registers,
    and its path is returned.
    """
    if is_standalone or with_sycl:
        raise NotImplementedError("load(): standalone programs and SYCL sources are not covered")
    sources = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    folder = Path(build_directory) if build_directory else jit.default_folder(name)
    if not folder.is_dir():
        raise OSError(f"build_directory does not exist: {folder}")
    has_cuda_source = any(jit.is_cuda_source(source) for source in sources)
    request = jit.Request(
        name=name,
        sources=[os.path.abspath(source) for source in sources],
        cflags=list(extra_cflags or ()),
        cuda_cflags=list(extra_cuda_cflags or ()),
        ldflags=list(extra_ldflags or ()),
        include_paths=[os.path.abspath(p) for p in _as_list(extra_include_paths)],
        folder=folder,
        with_cuda=has_cuda_source if with_cuda is None else with_cuda,
        is_verbose=verbose,
    )
    module_name, path = jit.build(request)
    if is_python_module:
        module = jit.import_module(module_name, path)
        _raise_library_errors(path)
        return module
    import taeda

    taeda.ops.load_library(path)
    return str(path)


def _as_list(paths):
    if paths is None:
        return []
    return [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(p) for p in paths]


def _raise_library_errors(path):
    """The errors of the TORCH_LIBRARY blocks of the loaded object."""
    from taeda._C import _dispatch

    problems = _dispatch.take_library_errors()
    if problems:
        raise RuntimeError(f"{path}: {problems}")


def load_inline(
    name,
    cpp_sources,
    cuda_sources=None,
    sycl_sources=None,
    functions=None,
    extra_cflags=None,
    extra_cuda_cflags=None,
    extra_sycl_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    build_directory=None,
    verbose=False,
    with_cuda=None,
    with_sycl=None,
    is_python_module=True,
    with_pytorch_error_handling=True,
    keep_intermediates=True,
    use_pch=False,
    no_implicit_headers=False,
):
    """`load` for sources given as text.

    `functions` names those to bind: a list, or a dict from names to documentation. Unless
    `no_implicit_headers`, `torch/extension.h` is included first.
    """
    folder = Path(build_directory) if build_directory else jit.default_folder(name)
    header = "" if no_implicit_headers else "#include <torch/extension.h>\n"
    texts = [header, *([cpp_sources] if isinstance(cpp_sources, str) else cpp_sources)]
    if functions is not None:
        texts.append(_bindings(functions))
    sources = [_write_source(folder / "main.cpp", "\n".join(texts))]
    cuda = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources or ())
    if cuda:
        head = (
            "" if no_implicit_headers else "#include <torch/types.h>\n#include <cuda_runtime.h>\n"
        )
        sources.append(_write_source(folder / "cuda.cu", "\n".join([head, *cuda])))
    return load(
        name,
        sources,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=str(folder),
        verbose=verbose,
        with_cuda=with_cuda,
        with_sycl=with_sycl,
        is_python_module=is_python_module,
    )


def _bindings(functions):
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, dict):
        if not isinstance(functions, (list, tuple)):
            raise ValueError(
                f"Expected 'functions' to be a list or dict, but was {type(functions)}"
            )
        functions = {function: function for function in functions}
    lines = [f'  m.def("{name}", &{name}, "{doc}");' for name, doc in functions.items()]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}", ""])


def _write_source(path, text):
    jit.write_if_changed(path, text)
    return str(path)


# setuptools is loaded when one of these is first asked for.
_AHEAD_OF_TIME = ("BuildExtension", "CUDAExtension", "CppExtension")


def __getattr__(name):
    if name in _AHEAD_OF_TIME:
        from taeda.utils import _extension_setup

        return getattr(_extension_setup, name)
    raise AttributeError(f"module 'taeda.utils.cpp_extension' has no attribute '{name}'")
