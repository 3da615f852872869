"""Section `start`: what an import costs, and how large the installation is."""

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from side_by_side.timing import Case

IMPORT = """
import resource, time
start = time.perf_counter()
import {name}
seconds = time.perf_counter() - start
print(seconds * 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def cases(T: ModuleType, options: Namespace) -> Iterator[Case]:
    yield "import", lambda: imported(T.__name__)
    yield "installed_mib", lambda: installed_bytes(Path(T.__file__).parent) / 2**20


def imported(name: str) -> dict[str, float]:
    """The best of four processes, after one that fills the page cache."""
    command = [sys.executable, "-c", IMPORT.format(name=name)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    times, sizes = zip(*((float(ms), float(mib)) for ms, mib in runs[1:]))
    return {"import_ms": min(times), "import_rss_mib": min(sizes)}


def installed_bytes(package: Path) -> int:
    """All files of a package, each once, also those that links in a build folder lead to."""
    sizes = {}
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (Path(folder, name).resolve() for name in names):
            sizes[path] = path.stat().st_size
    return sum(sizes.values())
