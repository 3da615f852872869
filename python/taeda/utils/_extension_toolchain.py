"""Compilers, flags and paths for C++ and CUDA extensions."""

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

CXX_FLAGS = ["-std=c++20", "-fPIC", "-ffp-contract=off", "-Wno-psabi"]
NVCC_FLAGS = [
    "-std=c++20",
    "--expt-relaxed-constexpr",
    "--expt-extended-lambda",
    "-diag-suppress=1835",  # an attribute of thread-local variables that nvcc does not know
]
_OLDEST_COMPILER = {"g++": (12, 0), "clang++": (16, 0)}
_DEFAULT_ARCHITECTURES = "8.0;9.0+PTX"


def package_folder():
    """Where libtaeda.so lies: the package, in a wheel as in a build folder."""
    import taeda._C

    return Path(taeda._C.__file__).resolve().parent


def library_identity():
    """A few letters that differ between libraries that cannot share a built extension.

    Another Python, machine or package folder has other ones. In a build folder they stay: the
    compiler's lists of headers tell what is old. An installed package is replaced as a whole, by
    files that may look older than what was built, so the library's own file counts there.
    """
    package = package_folder()
    place = package.stat()
    parts = [package, place.st_dev, place.st_ino, sysconfig.get_config_var("SOABI")]
    if (package / "include").exists():
        library = (package / "libtaeda.so").stat()
        parts += [library.st_size, library.st_mtime_ns]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def find_cuda_home():
    """CUDA's folder from CUDA_HOME, CUDA_PATH, nvcc on PATH, or the usual place; None without."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if named:
        return named
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        folder = Path(nvcc).resolve().parent.parent
        if (folder / "include" / "cuda_runtime.h").exists():
            return str(folder)
    return "/usr/local/cuda" if Path("/usr/local/cuda/bin/nvcc").exists() else None


def header_folders(device_type="cpu"):
    """The folders an extension's compiler searches for Taeda's and PyTorch's header names."""
    package = package_folder()
    installed = package / "include"
    if installed.exists():
        folders = [installed / "compat", installed]
    else:
        build = package.parents[1]
        source = _cached(build, "CMAKE_HOME_DIRECTORY")
        library_build = _cached(build, "TAEDA_LIBRARY_BUILD") or build
        folders = [source / "include" / "compat", source, library_build / "gen"]
    found = [str(folder) for folder in (*folders, *_pybind_folders(folders))]
    if device_type == "cuda":
        found.append(str(Path(_need_cuda_home()) / "include"))
    return found


def _pybind_folders(folders):
    """Where pybind11's headers lie, if not with ours: sources without bindings need none."""
    if any((folder / "pybind11").exists() for folder in folders):
        return []
    spec = importlib.util.find_spec("pybind11")
    if spec is None:
        return []
    # The package of any folder on Python's path, be it installed or a plain copy.
    for place in spec.submodule_search_locations or ():
        if (Path(place) / "include" / "pybind11" / "pybind11.h").exists():
            return [Path(place).resolve() / "include"]
    import pybind11

    return [Path(pybind11.get_include())]


def _cached(build, name):
    """A path that CMake noted for a build folder, None where it is empty."""
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        raise RuntimeError(f"no headers: neither an installed package nor a build folder: {build}")
    found = re.search(rf"^{name}:\w+=(.+)$", cache.read_text(), re.M)
    return Path(found.group(1)) if found else None


def library_folders(device_type="cpu"):
    """The folders an extension's linker searches."""
    folders = [str(package_folder())]
    if device_type == "cuda":
        home = Path(_need_cuda_home())
        folders += [str(home / name) for name in ("lib64", "lib") if (home / name).exists()]
    return folders


def _need_cuda_home():
    home = find_cuda_home()
    if home is None:
        raise OSError(
            "CUDA_HOME environment variable is not set. Please set it to your CUDA install root."
        )
    return home


def python_header_folder():
    return sysconfig.get_path("include")


def cxx_compiler():
    return os.environ.get("CXX", "c++")


def nvcc_compiler():
    return os.environ.get("NVCC") or str(Path(_need_cuda_home()) / "bin" / "nvcc")


def architecture_flags():
    """nvcc's -gencode flags for TORCH_CUDA_ARCH_LIST, `8.0;9.0+PTX` and the like."""
    names = os.environ.get("TORCH_CUDA_ARCH_LIST", _DEFAULT_ARCHITECTURES)
    flags = []
    for name in re.split(r"[; ]+", names.strip()):
        version = name.removesuffix("+PTX")
        if not re.fullmatch(r"\d+\.\d+a?", version):
            raise ValueError(f"Unknown CUDA arch ({name}) or GPU not supported")
        number = version.replace(".", "")
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if name.endswith("+PTX"):
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return flags


@functools.cache
def compiler_version(compiler):
    """(family, version) of a compiler: `("g++", (12, 2))`."""
    try:
        text = subprocess.run(
            [*compiler.split(), "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"the C++ compiler cannot be run: {compiler}: {error}") from error
    family = "clang++" if "clang" in text else "g++"
    numbers = re.search(r"(\d+)\.(\d+)(?:\.\d+)?", text)
    version = tuple(int(n) for n in numbers.groups()) if numbers else (0, 0)
    return family, version


def get_compiler_abi_compatibility_and_version(compiler):
    """Whether extensions can be compiled with `compiler`, and its version as text."""
    import warnings

    family, version = compiler_version(compiler)
    text = ".".join(str(n) for n in version)
    oldest = _OLDEST_COMPILER[family]
    if version >= oldest:
        return True, text
    warnings.warn(
        f"{compiler} {text} may be too old for C++20 as Taeda's headers use it: need "
        f"{family} {'.'.join(str(n) for n in oldest)} or newer"
    )
    return False, text


def is_ninja_available():
    """Whether ninja can be run."""
    return ninja_program() is not None


def ninja_program():
    import sys

    beside_python = Path(sys.executable).parent / "ninja"
    return str(beside_python) if beside_python.exists() else shutil.which("ninja")


def verify_ninja_availability():
    """Raises where ninja cannot be run."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
