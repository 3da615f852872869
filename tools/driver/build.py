"""Configures and builds with CMake and Ninja, and reports where the build time goes."""

import fcntl
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from driver.process import BUILD, ROOT, VENV_PYTHON, UsageError, check_call, say, timed, tool

sys.path.insert(0, str(ROOT / "tools"))
from link_package import compile_package, link_package


# The targets that `import taeda` needs.
PACKAGE = ("_C", "_frames", "taeda_package")


@dataclass
class Build:
    """One build folder: which Python it serves and which CMake options it was configured with."""

    folder: Path = BUILD
    python: Path = VENV_PYTHON
    options: dict[str, str] = field(default_factory=dict)

    @property
    def package_path(self) -> Path:
        """What PYTHONPATH must hold for `import taeda`."""
        return self.folder / "python"

    def configure_command(self) -> list[str]:
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_MAKE_PROGRAM": str(tool("ninja")),
            "Python_EXECUTABLE": str(self.python),
            **self.options,
        }
        definitions = [f"-D{name}={value}" for name, value in options.items()]
        return [str(tool("cmake")), "-G", "Ninja", "-S", str(ROOT), "-B", str(self.folder), *definitions]

    def configure(self) -> None:
        """Configures when the folder is new or its command changed; Ninja sees to the rest."""
        command = self.configure_command()
        stamp = self.folder / "configure.stamp"
        text = "\n".join(command) + "\n"
        if (self.folder / "build.ninja").exists() and stamp.exists() and stamp.read_text() == text:
            return
        with timed(f"Configuring {self.folder.relative_to(ROOT)}"):
            check_call([*command, "--log-level=NOTICE"])
        stamp.write_text(text)

    def run(
        self, *targets: str, env: dict[str, str] | None = None, options: tuple[str, ...] = ()
    ) -> None:
        """Builds `targets`, or everything; `options` go to Ninja."""
        command = [tool("ninja"), "-C", self.folder, "-j", jobs(), *options, *targets]
        with self.locked():
            self.configure()
            with timed(f"Building {self.folder.relative_to(ROOT)}"):
                check_call(command, env=ccache_env(env))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps two calls of `./run` from building in the same folder at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "build.lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"Waiting for another build in {self.folder.relative_to(ROOT)}")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def link_package(self) -> None:
        """Brings Python files that were added since the last build into the package."""
        library = Path(self.options.get("TAEDA_LIBRARY_BUILD", self.folder))
        sources = [ROOT / "python" / "taeda", library / "gen" / "python" / "taeda"]
        link_package(sources, self.package_path / "taeda")
        compile_package(sources, self.package_path / "taeda")

    def python_env(self) -> dict[str, str]:
        """The environment variables under which `import taeda` finds this build."""
        inherited = os.environ.get("PYTHONPATH")
        paths = [str(self.package_path), *([inherited] if inherited else [])]
        return {"PYTHONPATH": os.pathsep.join(paths)}

    def is_built(self) -> bool:
        return any((self.package_path / "taeda").glob("_C.*.so"))


def jobs() -> str:
    return os.environ.get("TAEDA_JOBS") or str(len(os.sched_getaffinity(0)))


def ccache_env(env: dict[str, str] | None) -> dict[str, str]:
    """Lets build folders of different Pythons share what ccache keeps, precompiled headers included.

    Comments count: a precompiled header knows its parts by their whole text, so one that was cached
    before a comment changed does not stand for them any longer.
    """
    return {
        "CCACHE_BASEDIR": str(ROOT),
        "CCACHE_COMMENTS": "1",
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
        **(env or {}),
    }


def build_command(arguments: list[str]) -> int:
    """`./run build [--clean] [--keep-going] [--report] [target...]`.

    Without targets it builds what `import taeda` and an installed library need.
    """
    flags = {argument for argument in arguments if argument.startswith("-")}
    unknown = flags - {"--clean", "--keep-going", "--report"}
    if unknown:
        raise UsageError(f"unknown option {' '.join(sorted(unknown))}; see ./run help")
    targets = [argument for argument in arguments if argument not in flags] or PACKAGE
    build = Build()
    env = None
    if "--clean" in flags:
        shutil.rmtree(build.folder, ignore_errors=True)
        env = {"CCACHE_DISABLE": "1"}
    start = time.monotonic()
    options = ("-k", "0") if "--keep-going" in flags else ()
    build.run(*targets, env=env, options=options)
    if "--clean" in flags:
        say(f"clean build: {time.monotonic() - start:.0f} s on {jobs()} cores")
    if "--report" in flags:
        print_report(build.folder)
    return 0


def print_report(folder: Path) -> None:
    """CPU-side seconds a folder of sources took in its latest build, from Ninja's log."""
    seconds: dict[str, float] = defaultdict(float)
    files: dict[str, int] = defaultdict(int)
    slowest: list[tuple[float, str]] = []
    for name, took in compile_times((folder / ".ninja_log").read_text()).items():
        source_folder = source_of(name).rpartition("/")[0] or "."
        seconds[source_folder] += took
        files[source_folder] += 1
        slowest.append((took, source_of(name)))
    print(f"{'seconds':>8}  {'files':>5}  folder")
    for name in sorted(seconds, key=seconds.get, reverse=True):
        print(f"{seconds[name]:8.1f}  {files[name]:5}  {name}")
    print(f"{sum(seconds.values()):8.1f}  {sum(files.values()):5}  total")
    print("slowest files:")
    for took, name in sorted(slowest, reverse=True)[:10]:
        print(f"{took:8.1f}  {name}")


def compile_times(log: str) -> dict[str, float]:
    """Seconds per object file in a .ninja_log; a later line for the same output replaces it."""
    times = {}
    for line in log.splitlines():
        parts = line.split("\t")
        if line.startswith("#") or len(parts) < 4:
            continue
        start, end, _, name = parts[:4]
        if name.endswith(".o"):
            times[name] = (int(end) - int(start)) / 1000
    return times


def source_of(name: str) -> str:
    """CMakeFiles/<target>.dir/<source>.o to the source's path."""
    _, _, path = name.partition(".dir/")
    return (path or name).removesuffix(".o")
