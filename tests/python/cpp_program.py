"""Builds and runs C++ programs against the library, as a user would."""

import subprocess

from taeda.utils import _extension_toolchain as toolchain


def run_program(source, folder, *arguments, with_torch_names=False, environment=None):
    """What a program prints. Its includes are Taeda's own, or PyTorch's names for them too.

    environment: all variables that it sees; None: those of this process.
    """
    (folder / "program.cpp").write_text(source)
    headers = toolchain.header_folders()
    if not with_torch_names:
        headers = [f for f in headers if not f.endswith("compat")]
    package = toolchain.package_folder()
    command = [
        toolchain.cxx_compiler(),
        *toolchain.CXX_FLAGS,
        "-O0",
        *(f"-I{folder}" for folder in headers),
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
