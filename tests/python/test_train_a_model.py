"""Tests the program that trains two models: it learns, and the page shows its parts as they are."""

import pathlib
import re
import subprocess
import sys

import pytest
from under_test import NAME

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "train_a_model.py"

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="the program imports Taeda")


@pytest.mark.slow
def test_both_models_learn(tmp_path):
    done = subprocess.run(
        [sys.executable, PROGRAM, "--steps=100", f"--out={tmp_path}"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = re.findall(r"^ *(\w+) +[\d,]+ +([\d.]+) +([\d.]+) +([\d.]+)%$", done.stdout, re.M)
    assert [row[0] for row in rows] == ["convolutional", "transformer"]
    for _, first, last, accuracy in rows:
        assert float(last) < 0.7 * float(first) and float(accuracy) > 50
    assert "convolutional 100%" in done.stdout
    names = {path.name for path in tmp_path.iterdir()}
    assert {"training_curves.svg", "training_curves.png", "transformer.pt"} <= names


def test_the_page_has_the_parts_of_the_program():
    snippets = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "train_a_model.md").read_text(), re.S | re.M
    )
    parts = re.findall(
        r"^(?:@.*\n)?(?:def|class) (?:.*\n)(?:(?:    .*)?\n)*?(?=^\S|\Z)", "\n".join(snippets), re.M
    )
    assert len(parts) == 8
    program = PROGRAM.read_text()
    for part in parts:
        assert part.rstrip() in program
