"""The checks that need no tests to run: layers, sizes, generated files, formatting, lint."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from driver.process import ROOT, VENV_PYTHON, call, tool

CPP_SUFFIXES = {".h", ".cpp", ".c"}
UNFORMATTED = re.compile(r"^(/.*?):(\d+):\d+: warning:.*clang-format-violations", re.MULTILINE)
SOURCE_FOLDERS = ("taeda", "python", "tests", "bench", "examples", "include", "tools")
FILES_PER_CALL = 200


def source_files(suffixes: set[str]) -> list[Path]:
    """The tree's own files with one of `suffixes`."""
    return [
        path
        for folder in SOURCE_FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes and path.is_file()
    ]


def _clang_format_calls(*options: str) -> Iterator[list[str | Path]]:
    files = source_files(CPP_SUFFIXES)
    for start in range(0, len(files), FILES_PER_CALL):
        yield [tool("clang-format"), *options, *files[start : start + FILES_PER_CALL]]


def check_layers() -> int:
    return call([VENV_PYTHON, ROOT / "tools" / "check_layers.py"])


def check_sizes() -> int:
    return call([VENV_PYTHON, ROOT / "tools" / "size_report.py"])


def check_clang_format() -> int:
    """Names each file that clang-format would change, with the first line it would change."""
    unformatted = {}
    for command in _clang_format_calls("--dry-run"):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr)
            return done.returncode
        for name, line in UNFORMATTED.findall(done.stderr):
            unformatted.setdefault(name, line)
    for name, line in unformatted.items():
        print(f"{Path(name).relative_to(ROOT)}:{line}: not formatted; ./run format does it")
    return 1 if unformatted else 0


def check_ruff() -> int:
    lint = call([tool("ruff"), "check", "--no-cache", "--quiet", "--output-format=concise", ROOT])
    formatting = call([tool("ruff"), "format", "--check", "--output-format=concise", ROOT])
    return max(lint, formatting)


def check_generated() -> int:
    """The generated files that are kept in the repository are what the generator writes."""
    return call([VENV_PYTHON, ROOT / "tools" / "gen" / "main.py", "--check"])


CHECKS: dict[str, Callable[[], int]] = {
    "layers": check_layers,
    "generated files": check_generated,
    "clang-format": check_clang_format,
    "ruff": check_ruff,
    "sizes": check_sizes,
}


def format_in_place() -> int:
    """`./run format`."""
    return max(
        *(call(command) for command in _clang_format_calls("-i")),
        call([tool("ruff"), "check", "--fix", "--quiet", ROOT]),
        call([tool("ruff"), "format", ROOT]),
    )
