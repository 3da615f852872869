"""Starts a process per section, round and framework, in turns, and collects their figures."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from driver.terminal import Progress

# Figures by case and framework: one per round.
Figures = dict[str, dict[str, list[float | str]]]


def turns(options: Namespace) -> list[tuple[str, int, str]]:
    """Section, round and framework of every process, in order."""
    return [
        (section, index, framework)
        for section in options.sections
        for index in range(1 if section == "start" else options.rounds)
        for framework in options.frameworks
    ]


def collect(options: Namespace, arguments: list[str]) -> Figures:
    """Runs every turn with an empty compile cache that the turns share."""
    figures: Figures = {}
    order = turns(options)
    progress = Progress(len(order))
    with tempfile.TemporaryDirectory(prefix="side_by_side_") as cache:
        for done, (section, index, framework) in enumerate(order):
            progress.show(done, f"{section}, {framework}")
            command = [sys.executable, "-m", "side_by_side.worker", framework, section, *arguments]
            for name, value in lines(command, Path(cache), section):
                progress.show(done, f"{section}, {framework}: {name}")
                add(figures, name if index == 0 else later(name), framework, value)
    progress.clear()
    return figures


def add(figures: Figures, name: str, framework: str, value: float | str) -> None:
    figures.setdefault(name, {}).setdefault(framework, []).append(value)


def later(name: str) -> str:
    """The name of a first call's figure in a second process, when the cache on disk is warm."""
    if name.endswith(("_first_s", "_first_ms")):
        return name.replace("_first_", "_warm_")
    return name


def lines(command: list[str], cache: Path, section: str) -> Iterator[tuple[str, float | str]]:
    """The figures that a worker prints, as they come; one of its end where it breaks off."""
    env = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torch"),
        "TAEDA_CACHE_DIR": str(cache / "taeda"),
    }
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("["):
                name, value = json.loads(line)
                yield name, value
        if process.wait() != 0:
            errors.seek(0)
            said = errors.read().strip().splitlines()
            yield f"{section}_failed", said[-1][:200] if said else f"exit {process.returncode}"
