"""Runs what the pages about kernels show: kernels are read back, the program prints what it says."""

import re

import pytest
from cpp_program import run_program
from test_docs_cpp import ROOT, snippets

pytestmark = pytest.mark.slow

READER = """
#include <cassert>
#include <fstream>
#include <sstream>
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/ir/text.h"
using namespace taeda::kernel;
int main() {
  for (int i = 0; i < COUNT; ++i) {
    std::ifstream file("FOLDER/" + std::to_string(i) + ".kernel");
    std::stringstream text;
    text << file.rdbuf();
    const Kernel kernel = parse_kernel(text.str());
    verify(kernel);
    TileInterpreter program(kernel);
    if (dump(kernel) != text.str()) {
      std::puts(dump(kernel).c_str());
      return 1;
    }
  }
}
"""


def kernels_of(page):
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"^```kernel\n(.*?)^```", text, re.S | re.M)


@pytest.mark.parametrize("page, least", [("kernel_ir.md", 5), ("kernel_examples.md", 11)])
def test_kernels_of_the_page_read_back_as_they_are(page, least, tmp_path):
    kernels = kernels_of(page)
    assert len(kernels) >= least
    for i, text in enumerate(kernels):
        (tmp_path / f"{i}.kernel").write_text(text)
    run_program(
        READER.replace("COUNT", str(len(kernels))).replace("FOLDER", str(tmp_path)), tmp_path
    )


def test_examples_are_those_of_the_tests():
    tested = (ROOT / "tests/kernel/kernels.h").read_text()
    shown = [text for text in kernels_of("kernel_examples.md") if "buffer b0" not in text]
    assert len(shown) == 9
    for text in shown:
        assert f'R"({text})"' in tested


def test_the_program_prints_what_the_page_says(tmp_path):
    programs = [s for s in snippets("docs/write_a_kernel.md") if "int main" in s]
    assert len(programs) == 1
    printed = run_program(programs[0], tmp_path)
    assert f"```\n{printed}```" in (ROOT / "docs/write_a_kernel.md").read_text()
