"""Models of transformers under `taeda run` against PyTorch's own numbers, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parent / "programs" / "transformers_models.py"
MODELS = ["bert", "gpt2", "llama", "t5", "vit", "whisper", "clip"]


# Breaks that PyTorch has, too: what is printed once, and what generation asks of data.
BREAKS = {
    "gpt2": {"a descriptor of C", "a function that remembers its results, behind a write"},
    "whisper": {
        "a value that only data tells",
        "an operation on enumerate",
        "a dict whose keys are objects",
    },
}


def results(folder, name, *launcher, **variables):
    folder.mkdir()
    environment = {**os.environ, **variables, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)}
    command = [sys.executable, *launcher, str(PROGRAM), str(folder), name]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert found.returncode == 0, found.stderr[-3000:]
    with np.load(folder / f"{name}.npz") as file:
        return dict(file), found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_forward_backward_generation_and_files(tmp_path, torch, transformers, name):
    expected, _ = results(tmp_path / "pytorch", name)
    for compiled in ({}, {"COMPILED": "eager"}, {"COMPILED": "inductor"}):
        folder = tmp_path / compiled.get("COMPILED", "plain")
        found, text = results(folder, name, "-m", "taeda.run", **compiled)
        assert found.keys() == expected.keys() and len(found) > 20
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, atol=1e-4, rtol=1e-4, err_msg=key)
        if compiled:
            _, num_graphs, *breaks = text.strip().split("; ")
            assert int(num_graphs) > 0 and set(breaks) <= BREAKS.get(name, set())
