"""Adds a pointwise operator in two places, as docs/add_an_operator.md says, and uses everything that follows."""

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
  std::printf("%d failures\n", failures);
  return failures;
}
"""


def from_docs():
    text = (ROOT / "docs/add_an_operator.md").read_text()
    record = re.search(r"```toml\n(.*?)```", text, re.S)[1]
    body = re.search(r"```cpp\n(struct SoftsignScaled.*?)```", text, re.S)[1]
    return record, body


@pytest.mark.slow
def test_two_places_are_enough(tmp_path):
    library = next(BUILD.rglob("libtaeda.so"), None)
    if library is None:
        pytest.skip("libtaeda.so is not built")
    record, body = from_docs()
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
    gen = tmp_path / "gen"
    subprocess.run(
        [sys.executable, ROOT / "tools/gen/main.py", "--records", records, "--out", gen], check=True
    )
    sources = [*gen.rglob("scratch_*.cpp"), *(gen / "taeda/ops/scratch").glob("*.cpp")]
    assert len(sources) >= 7
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
    for source in [*sources, tmp_path / "program.cpp"]:
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
