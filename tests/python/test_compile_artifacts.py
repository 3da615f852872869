"""Compiled kernels that one process saves and another loads."""

import os
import subprocess
import sys

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="the bytes are Taeda's")

PROGRAM = """
import sys
import taeda

def f(x):
    return (x.exp() + 3).sin().sum(-1)

action, path = sys.argv[1:]
if action == "load":
    info = taeda.compiler.load_cache_artifacts(open(path, "rb").read())
    assert not info.empty() and info.inductor_artifacts
compiled = taeda.compile(f)
compiled(taeda.ones(4, 5))
taeda.compiler.wait()
if action == "save":
    data, info = taeda.compiler.save_cache_artifacts()
    assert len(info.inductor_artifacts) >= 1
    open(path, "wb").write(data)
hits, misses = taeda._C._inductor.cache_uses()
print(hits, misses)
"""


def run(folder, *arguments):
    environment = {**os.environ, "TAEDA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifacts")
    hits, misses = run(folder / "first", "save", folder / "kernels")
    assert hits == 0 and misses >= 1
    return folder / "kernels"


@pytest.mark.slow
def test_another_process_starts_warm(saved, tmp_path):
    hits, misses = run(tmp_path / "second", "load", saved)
    assert hits >= 1 and misses == 0


@pytest.mark.slow
def test_changed_bytes_are_refused(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("TAEDA_CACHE_DIR", str(tmp_path / "third"))
    data = saved.read_bytes()
    middle = bytearray(data)
    middle[len(data) // 2] ^= 1
    for bad in (b"", data[:10], data[:-1], data + b"x", bytes(middle), b"x" * len(data)):
        with pytest.raises(RuntimeError, match="these are no artifacts of taeda"):
            t.compiler.load_cache_artifacts(bad)
    # A head that promises more than there is, with a right checksum.
    import hashlib
    import struct

    for count, body in ((1 << 60, b""), (1, struct.pack("<QQ", 1 << 62, 1 << 62)), (2, b"y" * 20)):
        head = struct.pack("<16sQ32s", data[:16], count, hashlib.sha256(body).digest())
        with pytest.raises(RuntimeError, match="these are no artifacts of taeda"):
            t.compiler.load_cache_artifacts(head + body)
    assert not (tmp_path / "third").exists()
    with pytest.raises(TypeError, match="artifacts are bytes, not str"):
        t.compiler.load_cache_artifacts("text")
