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


def test_kernels_of_the_page_read_back_as_they_are(tmp_path):
    page = (ROOT / "docs/kernel_ir.md").read_text()
    kernels = re.findall(r"^```kernel\n(.*?)^```", page, re.S | re.M)
    assert len(kernels) >= 5
    for i, text in enumerate(kernels):
        (tmp_path / f"{i}.kernel").write_text(text)
    run_program(
        READER.replace("COUNT", str(len(kernels))).replace("FOLDER", str(tmp_path)), tmp_path
    )


def test_the_program_prints_what_the_page_says(tmp_path):
    programs = [s for s in snippets("docs/write_a_kernel.md") if "int main" in s]
    assert len(programs) == 1
    printed = run_program(programs[0], tmp_path)
    assert f"```\n{printed}```" in (ROOT / "docs/write_a_kernel.md").read_text()
