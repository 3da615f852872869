"""The example of data loading: it learns, goes on inside an epoch, and its processes share a tensor."""

import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "data_loading.py"


def test_it_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--smoke"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ +(\d) +(\d+)  (\d\.\d+) ", done.stdout, re.M)
    assert [row[:2] for row in rows] == [("1", "3"), ("2", "3")]  # no batch twice, none left out
    assert float(rows[1][2]) < float(rows[0][2])
    assert "four processes filled one tensor: True" in done.stdout
    assert list(tmp_path.iterdir()) == []
