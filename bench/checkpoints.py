#!/usr/bin/env python3
"""Checkpoints: saving, loading and mapping, beside a plain write and beside PyTorch.

    ./run python bench/checkpoints.py [--megabytes 400] [--tensors 100] [--rounds 5] [--folder DIR]

Milliseconds, the best of the rounds. `write` is the same bytes written by write(2) and brought to
the disk by fsync; `save` ends when the file is on the disk, too (PyTorch's does not wait for the
disk: `save + sync` does). `map` is load(mmap=True) of a file in the page cache; `map + sum` also
reads every byte. The last rows are a file of many small tensors.
"""

import argparse
import importlib
import importlib.util
import os
import tempfile
import time


def best(rounds, function):
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1e3


def plain_write(path, pieces):
    with open(path, "wb", buffering=0) as file:
        for piece in pieces:
            file.write(piece)
        os.fsync(file.fileno())


def synced(path):
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def rows(t, folder, megabytes, count, rounds):
    """(name, milliseconds) for one package."""
    path = os.path.join(folder, f"{t.__name__}.pt")
    elements = megabytes * 10**6 // 4 // count
    state = {f"layer.{i}.weight": t.full((elements,), float(i)) for i in range(count)}

    def save_and_sync():
        t.save(state, path)
        synced(path)

    yield "save", best(rounds, lambda: t.save(state, path))
    yield "save + sync", best(rounds, save_and_sync)
    yield "load", best(rounds, lambda: t.load(path))
    yield "map", best(rounds, lambda: t.load(path, mmap=True))
    yield (
        "map + sum",
        best(rounds, lambda: [x.sum() for x in t.load(path, mmap=True).values()]),
    )
    small = {f"layer.{i}.weight": t.ones(4) for i in range(1000)}
    yield "save 1,000 small", best(rounds, lambda: t.save(small, path))
    yield "load 1,000 small", best(rounds, lambda: t.load(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    names = ["taeda"] + (["torch"] if importlib.util.find_spec("torch") else [])
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        size = options.megabytes * 10**6 // options.tensors
        pieces = [bytes([i % 256]) * size for i in range(options.tensors)]
        path = os.path.join(folder, "plain")
        written = best(options.rounds, lambda: plain_write(path, pieces))
        os.unlink(path)
        found = {
            name: dict(
                rows(
                    importlib.import_module(name),
                    folder,
                    options.megabytes,
                    options.tensors,
                    options.rounds,
                )
            )
            for name in names
        }
    print(f"{options.megabytes} MB in {options.tensors} tensors; write {written:.0f} ms")
    print(f"{'':18}" + "".join(f"{name:>12}" for name in names))
    for row in found["taeda"]:
        print(f"{row:18}" + "".join(f"{found[name][row]:12.1f}" for name in names))


if __name__ == "__main__":
    main()
