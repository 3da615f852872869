"""Builds and runs the C++ snippets of the documentation and of the README.

A snippet with a `main` is a program of its own; the others of a page are functions of one program.
"""

import pathlib
import re

import pytest
from cpp_program import run_program

import taeda

ROOT = pathlib.Path(__file__).parents[2]
HEAD = """
#undef NDEBUG
#include <taeda/compile.h>
#include <taeda/taeda.h>
#include <cassert>
#include <iostream>
using namespace taeda;
using namespace taeda::indexing;
"""

pytestmark = pytest.mark.slow


def snippets(page):
    return re.findall(r"^```cpp\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)


def test_the_first_program_prints_what_the_page_says(tmp_path):
    programs = [s for s in snippets("docs/cpp.md") if "int main" in s]
    assert len(programs) == 1
    printed = run_program(programs[0], tmp_path)
    assert f"```\n{printed}```" in (ROOT / "docs/cpp.md").read_text()


def run_parts(page, head, folder):
    """Runs the snippets without `main`, each inside a function."""
    parts = [s for s in snippets(page) if "int main" not in s]
    assert len(parts) >= 6
    functions = [f"static void part_{i}() {{\n{s}}}\n" for i, s in enumerate(parts)]
    calls = "".join(f"  part_{i}();\n" for i in range(len(parts)))
    return run_program(f"{head}{''.join(functions)}int main() {{\n{calls}}}\n", folder)


def test_the_page_runs(tmp_path):
    run_parts("docs/cpp.md", HEAD, tmp_path)


def test_the_training_page_runs(tmp_path):
    head = HEAD.replace(
        "#include <taeda/taeda.h>", "#include <taeda/nn.h>\n#include <taeda/optim.h>"
    )
    run_parts("docs/cpp_training.md", head, tmp_path)


def losses_of(printed):
    """The last numbers of the lines about epochs."""
    return [float(line.split()[-1]) for line in printed.splitlines() if "epoch" in line]


def test_the_training_program_learns(tmp_path):
    program, *others = (s for s in snippets("docs/cpp_training.md") if "int main" in s)
    for other in others:
        run_program("#undef NDEBUG\n" + other, tmp_path)
    losses = losses_of(run_program(program, tmp_path))
    assert len(others) == 2 and len(losses) == 5 and losses[-1] < 0.1 * losses[0]


def test_the_readme_trains_and_saves(tmp_path):
    (program,) = snippets("README.md")
    losses = losses_of(run_program(program, tmp_path))
    assert len(losses) == 3 and losses[-1] < 1e-3
    state = taeda.serialization.load_archive(tmp_path / "model.pt")
    assert state["0"]["weight"].shape == (32, 2)
