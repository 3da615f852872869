"""Builds the device of docs/add_a_device.md with the page's own commands, and computes on it."""

import re
import shlex
import subprocess
import sys

import pytest
from driver.process import BUILD, ROOT

PAGE = (ROOT / "docs" / "add_a_device.md").read_text()
SNIPPETS = re.findall(r"```cpp\n(.*?)```", PAGE, re.S)
COMMANDS = re.findall(r"```sh\n(.*?)\n```", PAGE, re.S)

PROGRAM = """
import warnings
import taeda
warnings.simplefilter("ignore")
taeda._C._load_device("./libmy_device.so")
taeda.utils.rename_privateuse1_backend("npu")
x = taeda.ones(2, 3, device="npu", requires_grad=True)
y = x + x * 3
assert y.device.type == "npu" and y.tolist() == [[4.0] * 3] * 2
print("add.out" in taeda._C._fallback_counts())
y.sum().backward()
assert x.grad.tolist() == [[4.0] * 3] * 2
"""


def _build(folder, source, command):
    """Runs a command of the page in `folder`, with the tree's paths in place of relative ones."""
    (folder / "my_device.cpp").write_text(source)
    words = shlex.split(command, comments=True)
    words = [re.sub(r"^(-[IL])(\.|build/.*)$", rf"\1{ROOT}/\2", word) for word in words]
    subprocess.run(words, cwd=folder, check=True)


def _falls_back(folder):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout == "True\n"


@pytest.mark.slow
def test_a_device_of_memory_alone(tmp_path):
    _build(tmp_path, SNIPPETS[0], COMMANDS[0])
    assert _falls_back(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(
    not (BUILD / "python" / "taeda" / "libtaeda.so").exists(), reason="libtaeda.so is not built"
)
def test_a_device_with_a_kernel(tmp_path):
    _build(tmp_path, SNIPPETS[0] + SNIPPETS[1], COMMANDS[1])
    assert not _falls_back(tmp_path)
