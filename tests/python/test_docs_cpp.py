"""Builds and runs the C++ snippets of the documentation and of the README.

A snippet with a `main` is a program of its own; the others of a page are functions of one program.
"""

import pathlib
import re
import subprocess

import pytest
from taeda.utils import _extension_toolchain as toolchain

ROOT = pathlib.Path(__file__).parents[2]
HEAD = """
#undef NDEBUG
#include <taeda/taeda.h>
#include <cassert>
#include <iostream>
using namespace taeda;
using namespace taeda::indexing;
"""

pytestmark = pytest.mark.slow


def snippets(page):
    return re.findall(r"^```cpp\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


def run(source, folder):
    """What a program prints; its includes are Taeda's own, not PyTorch's names for them."""
    (folder / "program.cpp").write_text(source)
    headers = [f for f in toolchain.header_folders() if not f.endswith("compat")]
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
    done = subprocess.run([str(folder / "program")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_first_program_prints_what_the_page_says(tmp_path):
    programs = [s for s in snippets("docs/cpp.md") if "int main" in s]
    assert len(programs) == 1
    printed = run(programs[0], tmp_path)
    assert f"```\n{printed}```" in (ROOT / "docs/cpp.md").read_text()


def test_the_page_runs(tmp_path):
    parts = [s for s in snippets("docs/cpp.md") if "int main" not in s]
    assert len(parts) >= 8
    functions = [f"static void part_{i}() {{\n{s}}}\n" for i, s in enumerate(parts)]
    calls = "".join(f"  part_{i}();\n" for i in range(len(parts)))
    run(f"{HEAD}{''.join(functions)}int main() {{\n{calls}}}\n", tmp_path)


def test_the_readme_runs(tmp_path):
    (program,) = snippets("README.md")
    word, loss, *rest = run(program, tmp_path).split()
    assert word == "loss" and float(loss) < 1e-3 and rest[-2] == "CPUFloatType{3,1}"
