"""Tests that need PyTorch: marked, skipped without it, failing where they must not be skipped."""

import ast
import os
import subprocess
import sys

import pytest
from driver.process import ROOT

PROGRAM = """
import pytest

@pytest.fixture
def reference(transformers):
    return transformers

def test_direct(torch):
    assert torch.here

def test_indirect(reference):
    pass

def test_plain():
    pass
"""


@pytest.fixture
def run_tests(tmp_path):
    """Runs PROGRAM under the tree's conftest.py, beside a torch of its own and no transformers."""
    (tmp_path / "torch.py").write_text("here = True\n")
    (tmp_path / "transformers.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'transformers'\", name='transformers')\n"
    )
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    peers\n")
    (tmp_path / "test_program.py").write_text(PROGRAM)

    def run(*options, **env):
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options]
        own = {
            "PYTHONPATH": str(tmp_path),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TAEDA_PEERS": "",
        }
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **own, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_a_missing_peer_is_skipped_by_name(run_tests):
    status, printed = run_tests()
    assert status == 0 and "2 passed, 1 skipped" in printed
    assert "needs transformers: ./run test --peers" in printed


def test_the_marker_chooses_what_takes_a_peer(run_tests):
    _, printed = run_tests("-m", "peers")
    assert "1 passed, 1 skipped, 1 deselected" in printed


def test_a_run_that_must_not_skip_fails(run_tests):
    status, printed = run_tests("-m", "peers", TAEDA_PEERS="required")
    assert status == 1 and "1 passed, 1 deselected, 1 error" in printed
    assert "transformers is not installed" in printed


def _asked_peers(text):
    """The peers that a test imports or looks for itself; programs in its strings do not count."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in ("importorskip", "find_spec"):
                names.append(str(node.args[0].value))
    peers = {"torch", "transformers", "safetensors", "einops"}
    return [name for name in names if name.partition(".")[0] in peers]


@pytest.mark.slow
def test_no_test_asks_for_a_peer_in_another_way():
    """Such a test would be skipped where no one sees it."""
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_peers.py"]
    assert [path.name for path in tests if _asked_peers(path.read_text())] == []
    assert _asked_peers("def f():\n    import torch.nn as nn\n") == ["torch.nn"]
    assert _asked_peers("pytest.importorskip('einops')") == ["einops"]


@pytest.mark.parametrize(
    ("fails", "calls", "status"),
    [
        ("", ["test --quick", "peers", "test --peers"], 0),
        ("test --quick", ["test --quick"], 1),
        ("peers", ["test --quick", "peers"], 1),
    ],
)
def test_continuous_integration_skips_nothing(fails, calls, status, tmp_path):
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_text((ROOT / ".ci" / "run").read_text())
    stub = tmp_path / "run"
    stub.write_text(f'#!/bin/sh\necho "$*" >> calls\n[ "$*" != "{fails}" ]\n')
    stub.chmod(0o755)
    done = subprocess.run(["bash", script, "--quick"], capture_output=True, text=True, check=False)
    assert (tmp_path / "calls").read_text().splitlines() == calls
    assert done.returncode == status
    assert ("PyTorch could not be installed" in done.stderr) is (fails == "peers")
