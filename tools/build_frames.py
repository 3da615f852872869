"""Builds taeda._frames alone, for any CPython: `tools/build_frames.py --python 3.12 --out DIR`.

The module needs nothing but CPython's headers, so that the evaluator can be tried on each version
(and under a sanitizer) without building the library for it. Prints the folder that goes on
PYTHONPATH.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("taeda/dynamo/frames", "taeda/dynamo/evaluator", "python/frames")


def sources() -> list[Path]:
    """The C and C++ sources of the module; those of other versions compile to nothing."""
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).iterdir()
        if path.suffix in (".c", ".cpp") and path.name != "refused.cpp"
    )


def facts(python: str) -> dict[str, str]:
    """What the headers and the file name depend on."""
    script = (
        "import sysconfig as s; print(s.get_path('include')); print(s.get_config_var('EXT_SUFFIX'))"
    )
    lines = subprocess.run(
        [python, "-c", script], check=True, capture_output=True, text=True
    ).stdout.split()
    return {"include": lines[0], "suffix": lines[1]}


def find_python(version: str) -> str | None:
    """The interpreter of a version: on the path, or among pyenv's."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
        return found
    pyenv = Path.home() / ".pyenv" / "versions"
    candidates = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    return str(candidates[-1]) if candidates else None


def compile_one(source: Path, target: Path, include: str, flags: list[str]) -> list[str]:
    """The command of one source."""
    language = ["gcc", "-std=c11"] if source.suffix == ".c" else ["g++", "-std=c++20"]
    return [
        *language, "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra",
        "-Wno-missing-field-initializers", "-Wno-unused-function", f"-I{ROOT}", f"-I{include}",
        *flags, "-c", str(source), "-o", str(target),
    ]  # fmt: skip


def build(python: str, out: Path, sanitize: bool) -> Path:
    """Compiles what changed and links the module into out/taeda."""
    known = facts(python)
    flags = ["-fsanitize=address", "-fno-omit-frame-pointer"] if sanitize else []
    package = out / "taeda"
    objects = out / "objects"
    package.mkdir(parents=True, exist_ok=True)
    objects.mkdir(exist_ok=True)
    headers = max(
        path.stat().st_mtime
        for folder in FOLDERS
        for path in (ROOT / folder).iterdir()
        if path.suffix in (".h", ".def", ".inc")
    )
    jobs, targets = [], []
    for source in sources():
        target = objects / f"{source.parent.name}_{source.stem}.o"
        targets.append(str(target))
        newest = max(source.stat().st_mtime, headers)
        if not target.exists() or target.stat().st_mtime < newest:
            jobs.append(compile_one(source, target, known["include"], flags))
    for first in range(0, len(jobs), 2):
        running = [subprocess.Popen(job) for job in jobs[first : first + 2]]
        if any([process.wait() != 0 for process in running]):
            raise SystemExit(1)
    library = package / f"_frames{known['suffix']}"
    subprocess.run(["g++", "-shared", *flags, *targets, "-o", str(library)], check=True)
    (package / "__init__.py").write_text("")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sanitize", action="store_true", help="with AddressSanitizer")
    options = parser.parse_args()
    python = options.python if "/" in options.python else find_python(options.python)
    if python is None:
        raise SystemExit(f"build_frames: no CPython {options.python} on this machine")
    print(build(python, options.out, options.sanitize))


if __name__ == "__main__":
    main()
