"""Installs what tools/pins.toml names: Debian packages, the virtual environment, wheels."""

import ctypes.util
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path

from driver.process import (
    ROOT,
    VENV,
    VENV_PYTHON,
    StepError,
    call,
    check_call,
    output,
    say,
    timed,
)

PINS = ROOT / "tools" / "pins.toml"


def pins() -> dict:
    return tomllib.loads(PINS.read_text())


def requirements(table: dict[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in table.items()]


def _python_header_found() -> bool:
    python = VENV_PYTHON if VENV_PYTHON.exists() else Path(sys.executable)
    if python == Path(sys.executable):
        folder = sysconfig.get_path("include")
    else:
        folder = output([python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"])
    return folder is not None and (Path(folder) / "Python.h").exists()


def _header_found(path: str) -> bool:
    triple = f"{platform.machine()}-linux-gnu"
    folders = ("/usr/include", f"/usr/include/{triple}", "/usr/local/include")
    return any((Path(folder) / path).exists() for folder in folders)


def is_present(probe: str) -> bool:
    """Whether the thing that a probe of pins.toml describes is on this machine."""
    kind, _, name = probe.partition(" ")
    match kind:
        case "command":
            return shutil.which(name) is not None
        case "header":
            return _header_found(name)
        case "file":
            return Path(name).exists()
        case "library":
            return ctypes.util.find_library(name) is not None
        case "module":
            return VENV_PYTHON.exists() or importlib.util.find_spec(name) is not None
        case "python-header":
            return _python_header_found()
    raise ValueError(f"pins.toml: unknown probe {probe!r}")


def _missing(packages: dict[str, str]) -> list[str]:
    return [package for package, probe in packages.items() if not is_present(probe)]


def _apt_prefix() -> list[str] | None:
    """How to call apt-get with the rights it needs; None where that is not possible."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    if output(["sudo", "-n", "true"]) is not None:
        return ["sudo", "-n"]
    return ["sudo"] if sys.stdin.isatty() else None


def install_system(required: dict[str, str], optional: dict[str, str] | None = None) -> None:
    """Installs the Debian packages that are missing; raises when a required one stays missing."""
    optional = optional or {}
    # Two calls: an optional package that this release lacks must not keep the required ones out.
    batches = [batch for batch in (_missing(required), _missing(optional)) if batch]
    if not batches:
        return
    prefix = _apt_prefix()
    if prefix is not None:
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        call([*prefix, "apt-get", "update", "-qq"], env=env)
        for batch in batches:
            with timed(f"Installing Debian packages: {' '.join(batch)}"):
                install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
                call([*prefix, *install, *batch], env=env)
    still_required, still_optional = _missing(required), _missing(optional)
    if still_required:
        names = " ".join(still_required + still_optional)
        raise StepError(f"missing packages; install them with: sudo apt-get install {names}")
    if still_optional:
        say(f"going on without optional packages; sudo apt-get install {' '.join(still_optional)}")


def _stamp_text() -> str:
    return hashlib.sha256(PINS.read_bytes()).hexdigest() + "\n"


def _is_stamped(stamp: Path) -> bool:
    return stamp.exists() and stamp.read_text() == _stamp_text()


def create_venv(python: str | Path, folder: Path) -> None:
    """Makes the environment whole or not at all: half of one would look finished the next time."""
    with timed(f"Creating {folder.relative_to(ROOT)}"):
        try:
            check_call([python, "-m", "venv", folder])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def pip_install(python: Path, wheels: list[str]) -> None:
    folder = python.parents[1].relative_to(ROOT)
    say(f"Wheels: {' '.join(wheels)}")
    with timed(f"Installing {len(wheels)} wheels into {folder}"):
        check_call([python, "-m", "pip", "install", "--disable-pip-version-check", "-q", *wheels])


def ensure_environment() -> None:
    """Makes compiler, .venv and tools match the pins; returns at once when they already do."""
    stamp = VENV / "taeda-tools.stamp"
    if VENV_PYTHON.exists() and _is_stamped(stamp):
        return
    table = pins()
    install_system(table["system"]["required"], table["system"]["optional"])
    if not VENV_PYTHON.exists():
        create_venv(sys.executable, VENV)
    pip_install(VENV_PYTHON, requirements(table["pip"]["tools"]))
    stamp.write_text(_stamp_text())


def ensure_peers() -> None:
    """Adds PyTorch and the other packages that Taeda is compared with to the environment."""
    ensure_environment()
    stamp = VENV / "taeda-peers.stamp"
    if _is_stamped(stamp):
        return
    table = pins()["pip"]
    try:
        # On its own, and talking: the wheel is large.
        check_call([VENV_PYTHON, "-m", "pip", "install", *requirements(table["torch"])])
        pip_install(VENV_PYTHON, requirements(table["peers"]))
    except StepError as error:
        raise StepError(f"PyTorch and the other peers cannot be installed: {error}") from None
    stamp.write_text(_stamp_text())


def ensure_cross() -> str:
    """Installs the other architecture's compiler and emulator; returns that architecture."""
    host = platform.machine()
    tables = pins()["system"]["cross"]
    if host not in tables:
        raise StepError(f"no cross compiler is pinned for a {host} machine")
    install_system(tables[host])
    return {"aarch64": "x86_64", "x86_64": "aarch64"}[host]


def ensure_runtime_venv(python: Path, folder: Path) -> Path:
    """A virtual environment of another Python with what the tests need; returns its interpreter."""
    interpreter = folder / "bin" / "python"
    stamp = folder / "taeda-runtime.stamp"
    if _is_stamped(stamp):
        return interpreter
    if not interpreter.exists():
        create_venv(python, folder)
    table = pins()["pip"]
    chosen = {name: table["tools"][name] for name in table["runtime"]["names"]}
    pip_install(interpreter, requirements(chosen))
    stamp.write_text(_stamp_text())
    return interpreter
