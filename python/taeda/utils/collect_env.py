"""What a report about a problem should tell of the machine: `python -m taeda.utils.collect_env`."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from typing import NamedTuple

import taeda

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]

# Packages that belong to the picture, by the beginnings of their names.
_PACKAGES = ("torch", "taeda", "numpy", "onnx", "triton", "einops", "safetensors", "transformers")
_UNKNOWN = "Could not collect"


class SystemEnv(NamedTuple):
    """One fact per field; None where it could not be found out."""

    torch_version: str
    is_debug_build: bool
    os: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: bool
    cpu_info: str
    cpu_capability: str
    num_threads: int
    settings: list[str]
    pip_packages: list[str]


def run_and_return_first_line(command):
    """The first line that a program prints; None where there is no such program."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return done.stdout.partition("\n")[0].strip() if done.returncode == 0 else None


def get_os():
    """The name of the system's release, with the architecture."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = platform.system()
    return f"{name} ({platform.machine()})"


def get_cpu_info():
    """The processor's model, and how many cores the process may use of how many."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    except OSError:
        pass
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {usable} of {os.cpu_count()} cores"


def get_pip_packages():
    """name==version of the packages that belong to the picture."""
    found = {
        f"{dist.metadata['Name']}=={dist.version}"
        for dist in importlib.metadata.distributions()
        if (dist.metadata["Name"] or "").lower().startswith(_PACKAGES)
    }
    return sorted(found)


def get_env_info():
    """Collects everything."""
    bits = sys.maxsize.bit_length() + 1
    python = sys.version.replace("\n", " ")
    kept = ("TAEDA_", "OMP_", "CXX", "TORCH_", "CUDA_")
    return SystemEnv(
        torch_version=str(taeda.__version__),
        is_debug_build=bool(taeda.version.debug),
        os=get_os(),
        gcc_version=run_and_return_first_line(["g++", "--version"]),
        clang_version=run_and_return_first_line(["clang++", "--version"]),
        cmake_version=run_and_return_first_line(["cmake", "--version"]),
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{python} ({bits}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=taeda.cuda.is_available(),
        cpu_info=get_cpu_info(),
        cpu_capability=taeda.backends.cpu.get_cpu_capability(),
        num_threads=taeda.get_num_threads(),
        settings=sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(kept)),
        pip_packages=get_pip_packages(),
    )


def pretty_str(envinfo):
    """The facts as a text, one per line."""

    def shown(name):
        value = getattr(envinfo, name)
        if isinstance(value, list):
            return "".join(f"\n  {item}" for item in value) or "none"
        return _UNKNOWN if value is None else str(value)

    rows = (
        ("PyTorch version", "torch_version"),
        ("Is debug build", "is_debug_build"),
        ("OS", "os"),
        ("GCC version", "gcc_version"),
        ("Clang version", "clang_version"),
        ("CMake version", "cmake_version"),
        ("Libc version", "libc_version"),
        ("Python version", "python_version"),
        ("Python platform", "python_platform"),
        ("Is CUDA available", "is_cuda_available"),
        ("CPU", "cpu_info"),
        ("Instruction set in use", "cpu_capability"),
        ("Threads", "num_threads"),
        ("Settings", "settings"),
        ("Versions of relevant libraries", "pip_packages"),
    )
    return "\n".join(f"{title}: {shown(name)}" for title, name in rows)


def get_pretty_env_info():
    return pretty_str(get_env_info())


def main():
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
