"""The example with six passes runs and says what it should."""

import pathlib
import re
import subprocess
import sys

import pytest
from under_test import NAME

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "fx_passes.py"


@pytest.mark.skipif(NAME != "taeda", reason="the example is about Taeda")
def test_example(tmp_path):
    picture = tmp_path / "model.html"
    result = subprocess.run(
        [sys.executable, EXAMPLE, picture], capture_output=True, text=True, check=True
    )
    differences = dict(re.findall(r"^([\w ]+):.*differs by (\S+)$", result.stdout, re.M))
    assert float(differences["remove dropout"]) == 0
    assert float(differences["fuse"]) < 1e-5
    assert float(differences["fold constants"]) < 1e-5
    assert 0 < float(differences["eight bits"]) < 1
    assert picture.read_text().startswith("<!doctype html>")
