"""Breaks an operator at a time, in a scratch copy, and sees its golden values disagree.

Only the broken record's own sources are compiled, into an object that replaces its kernels once it is
loaded after the library.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma"]
ISAS = {"x86_64": [[], ["-mavx2", "-mfma"], AVX512], "aarch64": [[]]}

# Operator, family, what stands in its bodies.h, what stands there instead.
BODIES = [
    ("gelu", "activation", "kGeluCubic = 0.044715", "kGeluCubic = 0.044815"),
    ("silu", "activation", "x / (V(1) + exp(-x))", "x / (V(1.0000001) + exp(-x))"),
    ("gelu_backward", "activation", "exp(V(-0.5) * x * x)", "exp(V(-0.5001) * x * x)"),
    ("sigmoid", "math", "return V(1) / (V(1) + exp(-x))", "return V(1) / (V(1.0000001) + exp(-x))"),
    ("log1p", "math", "return log1p(x)", "return log(x + V(1.0000001))"),
    ("erf", "math", "return erf(x)", "return erf(x * V(1.0000001))"),
    ("tanh_backward", "math", "grad * conj(V(1) - y * y)", "grad * (V(1) - y * y)"),
    ("lerp.Tensor", "arithmetic", "end - step * (V(1) - weight)", "end - step * weight"),
    ("_div_floor", "arithmetic", "return div_floor(a, b)", "return div_trunc(a, b)"),
    ("addcdiv", "arithmetic", "x + value * a / b", "x + a / b"),
]
# The same of gradients in records.toml.
GRADIENTS = [("sinh", "math", "grad * self.cosh().conj()", "grad * self.cosh()")]

GRADIENT_KERNEL = """
#include "taeda/ops/{family}/operators.h"
namespace taeda::autograd {{
Tensor {name}(KeySet, const Tensor&);
const bool is_registered = [] {{
  const auto fn = reinterpret_cast<void*>(&{name});
  dispatch::set_kernel(ops::{name}, slot_of(Key::Autograd, DeviceType::CPU), fn);
  return true;
}}();
}}
"""


def record_of(key, text):
    """One table of a records.toml."""
    tables = re.split(r"(?m)^(?=\[[^\[\]]+\]\n)", text)
    name = f'["{key}"]\n' if "." in key else f"[{key}]\n"
    return next(table for table in tables if table.startswith(name))


def edited(text, old, new):
    assert text.count(old) >= 1, f"{old!r} is not there any more"
    return text.replace(old, new)


def scratch(folder, key, family, body_edit=None, gradient_edit=None):
    """The record alone, its family's bodies, and what the generator makes of them."""
    ops = folder / "taeda/ops" / family
    ops.mkdir(parents=True)
    source = ROOT / "taeda/ops" / family
    record = record_of(key, (source / "records.toml").read_text())
    bodies = (source / "bodies.h").read_text()
    record = edited(record, *gradient_edit) if gradient_edit else record
    (ops / "bodies.h").write_text(edited(bodies, *body_edit) if body_edit else bodies)
    (ops / "records.toml").write_text(record)
    generator = [sys.executable, ROOT / "tools/gen/main.py", "--records", ops.parent]
    subprocess.run([*generator, "--out", folder / "gen"], check=True)


def object_of(folder, sources):
    """A library of sources, each with the flags it is compiled with."""
    library = next(BUILD.rglob("libtaeda.so"), None)
    if library is None:
        pytest.skip("libtaeda.so is not built")
    # The scratch folder holds one record; declarations of all others are the build's.
    includes = [f"-I{folder}", f"-I{BUILD / 'gen'}", f"-I{ROOT}"]
    flags = ["-std=c++20", "-O0", "-w", "-fPIC", "-ffp-contract=off", *includes]
    objects = [folder / f"{i}.o" for i in range(len(sources))]
    commands = [
        ["g++", *flags, *extra, "-c", source, "-o", target]
        for (source, extra), target in zip(sources, objects)
    ]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda command: subprocess.run(command, check=True), commands))
    made = folder / "broken.so"
    link = ["g++", "-shared", "-Wl,-Bsymbolic", *objects, "-o", made]
    subprocess.run([*link, f"-L{library.parent}", "-ltaeda"], check=True)
    return made


def kernels(folder, family):
    """The sources of a record's CPU kernel, with the flags of each."""
    gen = folder / "gen/taeda"
    machine = subprocess.run(["g++", "-dumpmachine"], capture_output=True, text=True).stdout
    tiles = gen / f"backends/cpu/{family}_tiles.isa.cpp"
    names = (f"backends/cpu/{family}_tiles.cpp", f"backends/cpu/{family}_kernels.cpp")
    sources = [rules(folder, family), *(gen / name for name in names)]
    return [(tiles, extra) for extra in ISAS[machine.partition("-")[0]]] + [
        (s, []) for s in sources
    ]


def rules(folder, family):
    """The record's dtype rule, which the library keeps to itself."""
    text = (folder / f"gen/taeda/ops/{family}/operators.cpp").read_text()
    block = re.search(r"namespace taeda::rules \{.*?\}  // namespace taeda::rules", text, re.S)[0]
    headers = ("taeda/ops/pointwise.h", f"taeda/ops/{family}/declarations.h")
    source = folder / "rules.cpp"
    source.write_text("".join(f'#include "{h}"\n' for h in headers) + block + "\n")
    return source


def golden_test(made, *keys):
    """The golden tests of some records, with an object loaded."""
    tests = [f"tests/python/test_golden.py::test_values_are_pytorchs[{key}]" for key in keys]
    program = f"import ctypes, sys, taeda, pytest; ctypes.CDLL({str(made)!r})\n"
    program += f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *{tests!r}]))"
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def assert_caught(run, key):
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"FAILED tests/python/test_golden.py::test_values_are_pytorchs[{key}]" in run.stdout


@pytest.mark.full
@pytest.mark.parametrize("key, family, old, new", BODIES, ids=[case[0] for case in BODIES])
def test_a_broken_body_is_caught(tmp_path, key, family, old, new):
    scratch(tmp_path, key, family, body_edit=(old, new))
    assert_caught(golden_test(object_of(tmp_path, kernels(tmp_path, family)), key), key)


@pytest.mark.full
@pytest.mark.parametrize("key, family, old, new", GRADIENTS, ids=[case[0] for case in GRADIENTS])
def test_a_broken_gradient_is_caught(tmp_path, key, family, old, new):
    scratch(tmp_path, key, family, gradient_edit=(old, new))
    (tmp_path / "kernel.cpp").write_text(GRADIENT_KERNEL.format(family=family, name=key))
    autograd = tmp_path / f"gen/taeda/autograd/{family}_autograd.cpp"
    made = object_of(tmp_path, [(autograd, []), (tmp_path / "kernel.cpp", [])])
    assert_caught(golden_test(made, key), key)


@pytest.mark.full
def test_an_unbroken_body_passes(tmp_path):
    """What the others show is the edit, not the way it came in."""
    scratch(tmp_path, "gelu", "activation")
    run = golden_test(object_of(tmp_path, kernels(tmp_path, "activation")), "gelu", "silu")
    assert run.returncode == 0, run.stdout + run.stderr
