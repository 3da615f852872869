"""Runs the Python snippets of the documentation, each page in a process of its own."""

import pathlib
import re
import subprocess
import sys

import pytest
from under_test import NAME, t

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
PAGES = [path for path in PAGES if "```python" in path.read_text()]

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="the pages are about Taeda")


def marked(page):
    """Pages whose snippets call a C++ compiler, or train, take ten seconds and more."""
    marks = [pytest.mark.slow] if page.stem in ("custom_operators_cpp", "train_a_model") else []
    return pytest.param(page, marks=marks, id=page.stem)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_snippets_run(page, tmp_path):
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    # The page about devices loads the plug-in that lies beside the C++ tests.
    folder = pathlib.Path(t._C.__file__).resolve().parents[2] / "tests"
    if not folder.exists():
        if page.stem == "add_a_device":
            pytest.skip("this build has no C++ tests, so no plug-in")
        folder = tmp_path
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(snippets)], cwd=folder, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_the_readme_trains(tmp_path):
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGES[0].read_text(), re.S | re.M)
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    lines = found.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["epoch 9", "epoch 19", "epoch 29"]
    assert float(lines[2].split()[-1]) < 1e-3 and lines[-1] == "torch.Size([512, 2])"
    assert (tmp_path / "model.pt").exists()
