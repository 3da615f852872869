"""Where things lie, and how `./run` says what it does and starts a command."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
BUILD = ROOT / "build"


class StepError(Exception):
    """A step of `./run` failed; the message says which, and what to do."""


class UsageError(StepError):
    """`./run` was called with arguments that a command does not know."""


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Says what starts, and how long it took when that is worth knowing."""
    say(what)
    start = time.monotonic()
    yield
    seconds = time.monotonic() - start
    if seconds >= 5:
        say(f"{what}: {seconds:.0f} s")


def call(
    command: Sequence[str | Path], *, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> int:
    """Runs `command` with `env` added to the environment, and returns its exit status."""
    sys.stdout.flush()
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **(env or {})}, check=False
    ).returncode


def check_call(
    command: Sequence[str | Path], *, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> None:
    """Runs `command` and raises StepError with the command line when it fails."""
    status = call(command, cwd=cwd, env=env)
    if status != 0:
        line = shlex.join(str(part) for part in command)
        raise StepError(f"exit status {status} from: {line}")


def output(command: Sequence[str | Path]) -> str | None:
    """What `command` prints, stripped, or None when it cannot run or fails."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def tool(name: str) -> Path:
    """A program of the environment, such as cmake or ruff."""
    return VENV / "bin" / name
