"""Adds the operators of docs/add_an_operator.md in a scratch folder, and uses everything that follows."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

PROGRAM = r"""
#include <cmath>
#include <cstdio>
#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"

using namespace taeda;

int failures = 0;
void expect(bool ok, const char* what) {
  if (!ok) { std::printf("wrong: %s\n", what); ++failures; }
}
bool near(double a, double b) { return std::fabs(a - b) < 1e-6; }

int main() {
  Tensor x = full({SymInt(2), SymInt(3)}, Scalar(-3.0)), scale = full({SymInt(3)}, Scalar(2.0));
  const double want = 2.0 * -3.0 / 4.0;
  Tensor y = softsign_scaled(x, scale);
  expect(near(y.data<float>()[5], want) && y.size(0) == 2, "function");
  expect(near(x.softsign_scaled(scale).data<float>()[0], want), "method");
  Tensor out = empty({SymInt(2), SymInt(3)});
  expect(softsign_scaled_out(out, x, scale).is_same(out) && near(out.data<float>()[1], want), "out");
  Tensor copy = x.clone();
  copy.softsign_scaled_(scale);
  expect(near(copy.data<float>()[2], want) && copy.version() == 1, "in place");
  Tensor m = empty({SymInt(1) , SymInt(int64_t(1) << 40)}, DType::Float, {}, Device(DeviceType::Meta));
  expect(softsign_scaled(m, m).size(1) == int64_t(1) << 40, "meta");
  autograd::set_requires_grad(x, true);
  Tensor loss = softsign_scaled(x, scale).sum();
  autograd::run_backward({loss}, {Tensor()}, false, false, {}, false, true);
  expect(near(autograd::grad(x).data<float>()[0], 2.0 / 16.0), "gradient");
  expect(dispatch::find_operator("softsign_scaled", "out") != nullptr, "dispatcher entry");

  Tensor rows = arange(6.0).view({SymInt(2), SymInt(3)}).t();  // strided: 0 3 / 1 4 / 2 5
  Tensor sums = reverse_cumsum(rows, 0);
  expect(near(sums[0][0].item().to_double(), 3) && near(sums[1][1].item().to_double(), 9), "structured");
  Tensor wide = zeros({SymInt(3), SymInt(4)}), strided = wide.slice(1, 0, 4, 2);
  reverse_cumsum_out(strided, rows, 0);
  expect(near(wide[0][2].item().to_double(), 12) && near(wide[0][1].item().to_double(), 0), "strided out");
  Tensor own = rows.clone();
  own.reverse_cumsum_(-1);
  expect(near(own[2][0].item().to_double(), 7), "structured in place");
  Tensor leaf = ones({SymInt(3)});
  autograd::set_requires_grad(leaf, true);
  Tensor total = reverse_cumsum(leaf, 0).sum();
  autograd::run_backward({total}, {Tensor()}, false, false, {}, false, true);
  expect(near(autograd::grad(leaf).data<float>()[2], 3), "structured gradient");
  expect(reverse_cumsum(m, 1).size(1) == int64_t(1) << 40, "structured meta");
  try {
    reverse_cumsum(ones({SymInt(2)}).to(DType::Int64), 0);
    expect(false, "refused dtype");
  } catch (const Error&) {
  }
  std::printf("%d failures\n", failures);
  return failures;
}
"""


RULES = """
#include "taeda/ops/scratch/declarations.h"
#include "taeda/ops/shape.h"
namespace taeda {
%s}
"""
KERNEL = """
#include <vector>
#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/backends/cpu/scratch_declarations.h"
#include "taeda/ops/shape.h"
namespace taeda {
using namespace cpu;
%s}
"""


def from_docs():
    """The page's records, and its code by what it starts with."""
    text = (ROOT / "docs/add_an_operator.md").read_text()
    records = "\n".join(re.findall(r"```toml\n(.*?)```", text, re.S))
    body, rule, kernel = re.findall(r"```cpp\n(.*?)```", text, re.S)
    return records, body, rule, kernel


@pytest.mark.slow
def test_the_page_is_enough(tmp_path):
    library = next(BUILD.rglob("libtaeda.so"), None)
    if library is None:
        pytest.skip("libtaeda.so is not built")
    record, body, rule, kernel = from_docs()
    records = tmp_path / "taeda/ops"
    for family in (ROOT / "taeda/ops").glob("*/records.toml"):
        (records / family.parent.name).mkdir(parents=True)
        shutil.copy(family, records / family.parent.name)
    (records / "scratch").mkdir()
    (records / "scratch/records.toml").write_text(record)
    (records / "scratch/bodies.h").write_text(
        '#pragma once\n#include "taeda/ops/arithmetic/bodies.h"\nnamespace taeda::bodies {\n'
        + body
        + "}\n"
    )
    (records / "scratch/rules.cpp").write_text(RULES % rule)
    (tmp_path / "reverse_cumsum.cpp").write_text(KERNEL % kernel)
    gen = tmp_path / "gen"
    subprocess.run(
        [sys.executable, ROOT / "tools/gen/main.py", "--records", records, "--out", gen], check=True
    )
    sources = [*gen.rglob("scratch_*.cpp"), *(gen / "taeda/ops/scratch").glob("*.cpp")]
    assert len(sources) >= 5
    (tmp_path / "program.cpp").write_text(PROGRAM)
    flags = [
        "-std=c++20",
        "-O1",
        "-ffp-contract=off",
        "-w",
        f"-I{tmp_path}",
        f"-I{gen}",
        f"-I{ROOT}",
    ]
    isa = (
        "neon"
        if "aarch64"
        in subprocess.run(["g++", "-dumpmachine"], capture_output=True, text=True).stdout
        else None
    )
    objects = []
    written = [records / "scratch/rules.cpp", *tmp_path.glob("*.cpp")]
    for source in [*sources, *written]:
        # The generated tables of a new family are all this operator needs: nothing else is compiled again.
        variants = [("", [])]
        if source.name.endswith(".isa.cpp") and isa is None:
            variants = [
                ("generic", []),
                ("avx2", ["-mavx2", "-mfma"]),
                (
                    "avx512",
                    ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma"],
                ),
            ]
        for name, extra in variants:
            target = tmp_path / f"{source.parent.name}_{source.stem}{name}.o"
            subprocess.run(["g++", *flags, *extra, "-c", source, "-o", target], check=True)
            objects.append(target)
    program = tmp_path / "program"
    subprocess.run(
        [
            "g++",
            *objects,
            "-o",
            program,
            f"-L{library.parent}",
            "-ltaeda",
            f"-Wl,-rpath,{library.parent}",
        ],
        check=True,
    )
    run = subprocess.run([program], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    python = (gen / "python/bindings_scratch.cpp").read_text()
    assert '"softsign_scaled"' in python and '"softsign_scaled_"' in python
    assert "softsign_scaled" in (gen / "docs/operators/scratch.md").read_text()
