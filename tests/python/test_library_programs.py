"""Programs around torch under `taeda run` against PyTorch, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = Path(__file__).parent / "programs"


def execute(program, *arguments, launcher=()):
    command = [sys.executable, *launcher, str(PROGRAMS / program), *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ)
    assert found.returncode == 0, found.stderr[-3000:]


def agree(first, second):
    with np.load(first) as expected, np.load(second) as found:
        assert expected.files == found.files
        for name in expected.files:
            np.testing.assert_allclose(
                found[name], expected[name], atol=1e-4, rtol=1e-4, err_msg=name
            )


@pytest.mark.slow
def test_models_in_the_style_of_torchvision_and_timm(torch, tmp_path):
    (tmp_path / "pytorch").mkdir()
    (tmp_path / "taeda").mkdir()
    execute("vision_models.py", tmp_path / "pytorch")
    execute("vision_models.py", tmp_path / "taeda", launcher=("-m", "taeda.run"))
    names = sorted(path.name for path in (tmp_path / "pytorch").iterdir())
    assert names == ["densenet.npz", "resnet.npz", "transformer.npz"]
    for name in names:
        agree(tmp_path / "pytorch" / name, tmp_path / "taeda" / name)


@pytest.mark.slow
def test_models_in_the_style_of_torchvision_and_timm_train(tmp_path):
    execute("vision_models.py", tmp_path, launcher=("-m", "taeda.run"))
    for path in tmp_path.iterdir():
        with np.load(path) as found:
            assert found["losses"][-1] < found["losses"][0]


@pytest.mark.slow
def test_einops(torch, einops, tmp_path):
    execute("library_calls.py", tmp_path / "pytorch.npz", "einops")
    execute("library_calls.py", tmp_path / "taeda.npz", "einops", launcher=("-m", "taeda.run"))
    agree(tmp_path / "pytorch.npz", tmp_path / "taeda.npz")


@pytest.mark.slow
def test_safetensors(torch, safetensors, tmp_path):
    execute("library_calls.py", tmp_path / "pytorch.npz", "safetensors")
    execute("library_calls.py", tmp_path / "taeda.npz", "safetensors", launcher=("-m", "taeda.run"))
    agree(tmp_path / "pytorch.npz", tmp_path / "taeda.npz")
