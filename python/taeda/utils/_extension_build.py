"""Just-in-time builds of extensions: one folder per name, a lock, and ninja for what is old."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from taeda.utils import _extension_toolchain as toolchain

_CUDA_SUFFIXES = (".cu", ".cuh")
# The file that names the library an extension was built for; with another one all is old.
_LIBRARY = "built_for"
# In this process: (hash, version, time of the file) of each name that was loaded.
_loaded = {}


@dataclass
class Request:
    """The sources and flags of an extension."""

    name: str
    sources: list
    cflags: list = field(default_factory=list)
    cuda_cflags: list = field(default_factory=list)
    ldflags: list = field(default_factory=list)
    include_paths: list = field(default_factory=list)
    folder: Path = None
    with_cuda: bool = False
    is_verbose: bool = False

    def fingerprint(self):
        """Changes when the contents of a source or a flag do."""
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update(Path(source).read_bytes())
        flags = (self.cflags, self.cuda_cflags, self.ldflags, self.include_paths, self.with_cuda)
        digest.update(repr(flags).encode())
        return digest.hexdigest()


def default_folder(name):
    """Where an extension is built unless it is told: a folder of its name in the user's cache.

    Each Python and each library has its own.
    """
    root = os.environ.get("TAEDA_EXTENSIONS_DIR") or os.environ.get("TORCH_EXTENSIONS_DIR")
    if root is None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        version = f"py{sys.version_info.major}{sys.version_info.minor}"
        root = os.path.join(cache, "taeda_extensions", f"{version}_{toolchain.library_identity()}")
    folder = Path(root) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_cuda_source(path):
    return str(path).endswith(_CUDA_SUFFIXES)


@contextlib.contextmanager
def locked(folder):
    """One builder at a time; gives the lock's descriptor.

    Compilers inherit it: the lock of a process that died is free when they are done, too.
    """
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def build(request):
    """Builds what is out of date; returns (module name, path of the shared object).

    A name that was loaded before with other contents gets a version: a process cannot load two
    shared objects of one name.
    """
    identity = (request.name, str(request.folder))
    fingerprint = request.fingerprint()
    previous, version, stamp = _loaded.get(identity, (fingerprint, 0, None))
    if previous != fingerprint:
        version, stamp = version + 1, None
    with locked(request.folder) as lock:
        module_name, path = _build_version(request, version, lock)
        if stamp not in (None, path.stat().st_mtime_ns):
            # A header changed: the sources are as they were, but the loaded module is old.
            version += 1
            module_name, path = _build_version(request, version, lock)
        _loaded[identity] = (fingerprint, version, path.stat().st_mtime_ns)
    return module_name, path


def _build_version(request, version, lock):
    module_name = request.name if version == 0 else f"{request.name}_v{version}"
    write_if_changed(request.folder / _LIBRARY, toolchain.library_identity())
    write_if_changed(request.folder / "build.ninja", _ninja_text(request, module_name))
    _run_ninja(request, lock)
    return module_name, request.folder / f"{module_name}.so"


def write_if_changed(path, text):
    """Leaves a file of that text alone, so that it is not old; others never see half of it."""
    if path.exists() and path.read_text() == text:
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    os.replace(unfinished, path)


def _run_ninja(request, lock):
    toolchain.verify_ninja_availability()
    command = [toolchain.ninja_program(), "-C", str(request.folder)]
    jobs = os.environ.get("MAX_JOBS")
    if jobs:
        command += ["-j", jobs]
    if request.is_verbose:
        command.append("-v")
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=[lock]
    )
    if request.is_verbose:
        print(result.stdout, file=sys.stderr)
    if result.returncode != 0:
        raise RuntimeError(f"Error building extension '{request.name}':\n{result.stdout}")


def _ninja_text(request, module_name):
    """Rules and edges; ninja escapes spaces, colons and dollars with a dollar."""
    includes = [*request.include_paths, *toolchain.header_folders(_device(request))]
    common = [
        f"-DTORCH_EXTENSION_NAME={module_name}",
        *(f"-I{path}" for path in includes),
        f"-isystem{toolchain.python_header_folder()}",
    ]
    cflags = [*common, "-O2", *toolchain.CXX_FLAGS, *request.cflags]
    lines = [
        "ninja_required_version = 1.3",
        f"cxx = {toolchain.cxx_compiler()}",
        f"cflags = {_shell(cflags)}",
        f"ldflags = {_shell(link_flags(request))}",
        "",
        "rule compile",
        "  command = $cxx -MMD -MF $out.d $cflags -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "",
    ]
    if request.with_cuda:
        lines += _cuda_rule(request, common)
    objects = []
    for source in request.sources:
        rule = "cuda_compile" if is_cuda_source(source) else "compile"
        target = f"{Path(source).stem}{'.cuda' if rule == 'cuda_compile' else ''}.o"
        if target in objects:  # a file of that name in another folder
            target = f"{len(objects)}.{target}"
        objects.append(target)
        source = _escaped(os.path.abspath(source))
        lines.append(f"build {_escaped(target)}: {rule} {source} | {_LIBRARY}")
    lines += [
        "",
        "rule link",
        # Whoever loads the object finds the old one or the new one.
        "  command = $cxx $in -shared $ldflags -o $out.part && mv $out.part $out",
        "",
        f"build {module_name}.so: link {' '.join(_escaped(o) for o in objects)}",
        f"default {module_name}.so",
        "",
    ]
    return "\n".join(lines)


def _cuda_rule(request, common):
    flags = [
        *(flag.replace("-isystem", "-I") for flag in common),
        "-O2",
        *toolchain.NVCC_FLAGS,
        *toolchain.architecture_flags(),
        "--compiler-options=-fPIC",
        *request.cuda_cflags,
    ]
    return [
        f"nvcc = {toolchain.nvcc_compiler()}",
        f"cuda_flags = {_shell(flags)}",
        "rule cuda_compile",
        "  command = $nvcc --generate-dependencies-with-compile --dependency-output $out.d "
        "$cuda_flags -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "",
    ]


def link_flags(request):
    """The arguments of the linker."""
    folders = toolchain.library_folders(_device(request))
    flags = [*(f"-L{folder}" for folder in folders), "-ltaeda", f"-Wl,-rpath,{folders[0]}"]
    if request.with_cuda:
        flags.append("-lcudart")
    return [*flags, *request.ldflags]


def _device(request):
    return "cuda" if request.with_cuda else "cpu"


def _shell(flags):
    return " ".join(shlex.quote(str(flag)) for flag in flags).replace("$", "$$")


def _escaped(path):
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def import_module(name, path):
    """The built module, loaded from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
