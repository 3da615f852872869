"""The commands that need PyTorch: `./run golden`, `parity`, `bench --peers`, `test --peers`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from driver.build import PACKAGE, Build
from driver.environment import ensure_peers
from driver.process import ROOT, VENV_PYTHON, call
from driver.testing import run_pytest

FOLDERS = (ROOT / "tools", ROOT / "bench")


def parity_command(arguments: list[str]) -> int:
    """`./run parity [options]`: PyTorch's operator records on Taeda."""
    from parity.arguments import parse

    return _run("parity", parse, arguments)


def bench_command(arguments: list[str]) -> int:
    """`./run bench --peers [options]`: both frameworks on the same work."""
    sys.path.append(str(ROOT / "bench"))
    from side_by_side.arguments import parse

    return _run("side_by_side", parse, arguments)


def golden_command(arguments: list[str]) -> int:
    """`./run golden [family...]`: keeps PyTorch's values of the samples in tests/golden."""
    from golden_values.arguments import parse

    return _run("golden_values", parse, arguments)


def test_command() -> int:
    """`./run test --peers`: the tests that need a peer, which `./run test` skips without it."""
    ensure_peers()
    build = Build()
    build.run()
    return run_pytest(build, "-m", "peers", env={"TAEDA_PEERS": "required"})


def _run(package: str, parse: Callable[[list[str]], object], arguments: list[str]) -> int:
    """Starts a program of ours beside PyTorch, its options read first: a mistake costs no build."""
    parse(arguments)
    ensure_peers()
    build = Build()
    build.run(*PACKAGE)
    paths = [build.python_env()["PYTHONPATH"], *map(str, FOLDERS)]
    env = {"PYTHONPATH": os.pathsep.join(paths)}
    return call([VENV_PYTHON, "-m", package, *arguments], cwd=Path.cwd(), env=env)
