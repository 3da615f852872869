"""Tests that the demo learns, writes text and draws its loss curve."""

import importlib
import pathlib
import re
import runpy
import struct
import subprocess
import sys
import xml.etree.ElementTree
import zlib

import pytest
from under_test import t

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SIZES = {"steps": 60, "batch": 4, "length": 32, "width": 32, "layers": 1, "characters": 40}


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Runs the demo once, small; gives what it printed and the folder that it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "taeda", t)
        patch.syspath_prepend(EXAMPLES)
        sizes = [f"--{name}={value}" for name, value in SIZES.items()]
        patch.setattr(sys, "argv", ["char_transformer.py", *sizes, f"--out={folder}"])
        lines = []
        patch.setattr(sys, "stdout", Recorder(lines))
        runpy.run_path(str(EXAMPLES / "char_transformer.py"), run_name="__main__")
    return "".join(lines), folder


class Recorder:
    """A standard output that keeps what is written and is no terminal."""

    def __init__(self, lines):
        self.write = lines.append

    def flush(self):
        pass

    def isatty(self):
        return False


def test_a_folder_that_cannot_be_written_is_named_before_the_training(tmp_path):
    (tmp_path / "file").write_text("")
    command = [sys.executable, EXAMPLES / "char_transformer.py", f"--out={tmp_path / 'file'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("cannot write the pictures: ") and done.stderr.count("\n") == 1


def test_running_mean_keeps_both_ends(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    loss_plot = importlib.import_module("loss_plot")
    points = [(1, 5.0), (2, 1.0), (3, 3.0), (4, 8.0)]
    assert loss_plot.running_mean(points, 2) == [(1, 5.0), (2, 3.0), (3, 4.0), (4, 8.0)]


@pytest.mark.slow
def test_loss_falls(output):
    rows = re.findall(r"^ *(\d+) +(\d\.\d+) +(\d\.\d+) +[\d,]+$", output[0], re.MULTILINE)
    losses = {int(step): float(held_out) for step, _, held_out in rows}
    assert sorted(losses) == [1, *range(6, 61, 6)]
    assert losses[60] < losses[1] - 1


@pytest.mark.slow
def test_progress_and_sample_are_printed(output):
    assert "training 100%" in output[0] and "\r" not in output[0]
    assert re.search(r"\nMarch 7\. [^\0]{40}\n", output[0])


@pytest.mark.slow
def test_png_is_whole(output):
    data = (output[1] / "loss_curve.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        length, name = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(name + body)
        chunks[name] = body
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert len(pixels) == height * (1 + 3 * width) and len(set(pixels)) > 20


@pytest.mark.slow
def test_svg_is_well_formed_and_holds_both_curves(output):
    root = xml.etree.ElementTree.parse(output[1] / "loss_curve.svg").getroot()
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    counts = [len(line.get("points").split()) for line in lines]
    assert 60 in counts and 11 in counts
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"step", "nats per character", "training", "held out", "60"} <= set(texts)
