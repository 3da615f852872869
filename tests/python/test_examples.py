"""The examples: each runs, compiled too, draws what it says, and runs under PyTorch unchanged."""

import importlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree
import zlib

import pytest
from under_test import NAME

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# The examples of the folder that learn, and what each leaves behind.
PICTURES = ("actor_critic", "dcgan", "diffusion", "resnet_classifier", "vae", "char_gpt")
TEXTS = ("char_gpt", "lstm_language_model", "masked_language_model")
ALL = sorted({*PICTURES, *TEXTS})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NAME != "taeda", reason="the programs import Taeda"),
]


def run(program, folder, *arguments):
    """One thread: several programs at once would wait for each other's."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(EXAMPLES), *filter(None, [environment.get("PYTHONPATH")])]
    )
    return subprocess.run(
        [sys.executable, str(program), f"--out={folder}", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=folder,
    )


def facts(output):
    """The line that tells losses, without times."""
    (line,) = re.findall(r"^.*; first step.*$", output, re.M)
    return line.partition("; first step")[0]


def pixels(path):
    """(width, height, the bytes of the lines) of a PNG whose chunks are whole."""
    data, place, chunks = path.read_bytes(), 8, {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while place < len(data):
        length, name = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", data, place + 8 + length) == (zlib.crc32(name + body),)
        chunks[name] = body
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    return width, height, zlib.decompress(chunks[b"IDAT"])


def test_every_example_that_learns_is_tried():
    learning = [p.stem for p in EXAMPLES.glob("*.py") if "parse_options(__doc__" in p.read_text()]
    assert sorted(learning) == ALL


@pytest.mark.parametrize("name", ALL)
def test_it_runs_as_it_is_and_compiled(name, tmp_path):
    said = []
    for arguments in (), ("--compile",):
        done = run(EXAMPLES / f"{name}.py", tmp_path, "--smoke", *arguments)
        assert done.returncode == 0, done.stderr
        assert "training 100%" in done.stdout and "\r" not in done.stdout
        said.append(facts(done.stdout))
        if name in PICTURES:
            width, height, data = pixels(tmp_path / f"{name}.png")
            assert len(data) == height * (1 + 3 * width) and len(set(data)) > 3
        if name in TEXTS:
            assert len((tmp_path / f"{name}.txt").read_text()) > 20
    assert said[0] == said[1]  # the same numbers


def test_the_classifier_learns(tmp_path):
    sizes = ("--steps=60", "--width=6", "--images=300")
    done = run(EXAMPLES / "resnet_classifier.py", tmp_path, *sizes)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"right on ([\d.]+) %", done.stdout)[1]) > 40


def test_the_character_model_learns_and_is_loaded_again(tmp_path):
    sizes = ("--steps=60", "--batch=4", "--length=32", "--width=32", "--layers=1", "--compare")
    done = run(EXAMPLES / "char_gpt.py", tmp_path, *sizes, "--characters=40")
    assert done.returncode == 0, done.stderr
    first, last = re.search(r"held-out loss ([\d.]+) to ([\d.]+)", done.stdout).groups()
    assert float(last) < float(first) - 0.8
    assert re.search(r"\nMarch 7\. [^\0]{40}\n", done.stdout)
    assert re.search(r"^ *as it is +\d+ ms +[\d.]+ ms\n *compiled +\d+ ms", done.stdout, re.M)
    root = xml.etree.ElementTree.parse(tmp_path / "char_gpt.svg").getroot()
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert {60, 11} <= {len(line.get("points").split()) for line in lines}
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"step", "nats per character", "training", "held out", "60"} <= texts


def test_a_folder_that_cannot_be_written_is_named_before_the_training(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(EXAMPLES / "vae.py", tmp_path, f"--out={tmp_path / 'file'}")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("cannot write the pictures: ") and done.stderr.count("\n") == 1


def test_running_mean_keeps_both_ends(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    loss_plot = importlib.import_module("loss_plot")
    points = [(1, 5.0), (2, 1.0), (3, 3.0), (4, 8.0)]
    assert loss_plot.running_mean(points, 2) == [(1, 5.0), (2, 3.0), (3, 4.0), (4, 8.0)]


@pytest.mark.parametrize("name", ALL)
def test_pytorch_runs_it_with_another_import(torch, name, tmp_path):
    source = (EXAMPLES / f"{name}.py").read_text()
    assert source.count("taeda") == source.count("import taeda as torch") == 1
    (tmp_path / f"{name}.py").write_text(source.replace("import taeda as torch", "import torch"))
    done = run(tmp_path / f"{name}.py", tmp_path, "--smoke")
    assert done.returncode == 0, done.stderr
    assert facts(done.stdout)
