"""Builds and runs C++ programs against the library, as a user would."""

import subprocess

from taeda.utils import _extension_toolchain as toolchain


def run_program(source, folder, *arguments, with_torch_names=False, environment=None, headers=()):
    """What a program prints. Its includes are Taeda's own, or PyTorch's names for them too.

    environment: all variables that it sees; None: those of this process. headers: more folders.
    """
    (folder / "program.cpp").write_text(source)
    folders = toolchain.header_folders()
    if not with_torch_names:
        folders = [f for f in folders if not f.endswith("compat")]
    package = toolchain.package_folder()
    command = [
        toolchain.cxx_compiler(),
        *toolchain.CXX_FLAGS,
        "-O0",
        *(f"-I{name}" for name in [*folders, *headers]),
        str(folder / "program.cpp"),
        f"-L{package}",
        "-ltaeda",
        f"-Wl,-rpath,{package}",
        "-o",
        str(folder / "program"),
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    command = [str(folder / "program"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
