"""Models of transformers under `taeda run` against PyTorch's own numbers, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parent / "programs" / "transformers_models.py"
MODELS = ["bert", "gpt2", "llama", "t5", "vit", "whisper", "clip"]


def results(folder, name, *launcher):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)}
    command = [sys.executable, *launcher, str(PROGRAM), str(folder), name]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert found.returncode == 0, found.stderr[-3000:]
    with np.load(folder / f"{name}.npz") as file:
        return dict(file)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_forward_backward_generation_and_files(tmp_path, torch, transformers, name):
    (tmp_path / "pytorch").mkdir()
    (tmp_path / "taeda").mkdir()
    expected = results(tmp_path / "pytorch", name)
    found = results(tmp_path / "taeda", name, "-m", "taeda.run")
    assert found.keys() == expected.keys() and len(found) > 20
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, atol=1e-4, rtol=1e-4, err_msg=key)
