"""Work behind products that a library does: what it is told, and what it gives."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import post_op_programs as programs
import pytest
from taeda._inductor import config

import taeda as t


def words(f, inputs):
    return programs.product_step(programs.captured(f, inputs))["post_ops"]


@pytest.mark.parametrize("name", programs.PRODUCTS)
def test_products(name):
    f, want = programs.PRODUCTS[name]
    assert words(f, programs.matrices()) == want
    # Halves are rounded after each operation, as in eager.
    for dtype in (t.bfloat16, t.float16, t.float64):
        assert words(f, programs.matrices(dtype)) == []


@pytest.mark.parametrize("form", [t.contiguous_format, t.channels_last])
@pytest.mark.parametrize("name", programs.CONVOLUTIONS)
def test_convolutions(name, form):
    f, want = programs.CONVOLUTIONS[name]
    assert words(f, programs.images(form)) == want


def test_a_residual_of_a_convolution():
    f, want = programs.RESIDUAL
    assert words(f, programs.images(t.channels_last)) == want


@pytest.mark.parametrize("name", programs.OTHERS)
def test_other_work_has_no_words(name):
    assert words(programs.OTHERS[name], programs.matrices()) == []


def test_without_fusion():
    f, _ = programs.PRODUCTS["gelu"]
    with config.patch(epilogue_fusion=False):
        assert words(f, programs.matrices()) == []


def test_exact_programs():
    f, _ = programs.PRODUCTS["gelu"]
    with config.patch(exact=True):
        assert words(f, programs.matrices()) == []


def library():
    for name in (os.environ.get("TAEDA_ONEDNN"), "libdnnl.so.3", "libdnnl.so.2"):
        try:
            if name and name != "0" and ctypes.CDLL(name):
                return name
        except OSError:
            continue
    return None


@pytest.mark.slow
@pytest.mark.skipif(library() is None, reason="oneDNN is not installed")
def test_the_library_does_the_work():
    script = str(Path(programs.__file__))
    run = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"TAEDA_ONEDNN": library()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    if "no oneDNN 2 or 3" in run.stderr:
        pytest.skip("oneDNN here has no OpenMP threads")
    found = json.loads(run.stdout)
    assert max(error for error, _ in found.values()) < 1e-5, found
    by_library = {name for name, (_, is_done) in found.items() if is_done}
    assert {"residual", "subtracted", "scaled, channels last"} <= by_library, found
    # oneDNN 2.6 adds other elements than those asked for behind some convolutions.
    assert "residual, channels last" not in by_library
