"""Tests that the demo learns, writes text and draws its loss curve."""

import pathlib
import re
import runpy
import struct
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


def test_loss_falls(output):
    rows = re.findall(r"^ *(\d+) +(\d\.\d+) +(\d\.\d+) +[\d,]+$", output[0], re.MULTILINE)
    losses = {int(step): float(held_out) for step, _, held_out in rows}
    assert sorted(losses) == [1, *range(6, 61, 6)]
    assert losses[60] < losses[1] - 1


def test_progress_and_sample_are_printed(output):
    assert "training 100%" in output[0] and "\r" not in output[0]
    assert re.search(r"\nMarch 7\. [^\0]{40}\n", output[0])


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


def test_svg_is_well_formed_and_holds_both_curves(output):
    root = xml.etree.ElementTree.parse(output[1] / "loss_curve.svg").getroot()
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    counts = [len(line.get("points").split()) for line in lines]
    assert 60 in counts and 11 in counts
