"""What `./run test --full` adds: sanitizers, the package, other Pythons, the other architecture."""

import os
import shutil
from pathlib import Path

from driver.build import Build, ccache_env
from driver.environment import ensure_cross, ensure_runtime_venv
from driver.process import ROOT, VENV_PYTHON, StepError, check_call, output, say, tool
from driver.testing import Steps, run_ctest, run_pytest

OTHER_PYTHONS = ("3.12", "3.13")
# The folders under tests/ whose results depend on the instruction set.
CROSS_TESTS = "^(base|core|kernel|backends|ops)$"


def run_full_steps(steps: Steps, build: Build) -> None:
    steps.run("benchmarks", lambda: build.run("benchmarks") or 0)
    steps.run("installed package", lambda: check_package(build))
    steps.run("wheel", check_wheel)
    steps.run("sanitizers", check_sanitizers)
    for version in OTHER_PYTHONS:
        python = find_python(version)
        if python is None:
            say(f"Python {version}: not found on this machine, left out")
        else:
            steps.run(f"Python {version}", lambda v=version, p=python: check_python(build, v, p))
    steps.run("the other architecture", check_cross)


# What the programs of examples/cpp and tests/package print, at the end.
PRINTED = {
    "transforms": "weights: 3 1",
    "compile": "eager's gradients: yes, compiled: 1 time",
    "linear_regression": "weights: 1.0 -2.0 0.5, bias: 0.3",
    "indexing": "refused: index 7 is out of bounds for dimension 0 with size 4",
    "torch_names": "2\n 4\n[ CPULongType{2} ]",
}


def build_program(source: Path, build: Path, prefix: Path) -> None:
    """Configures and builds a project outside the tree against an installation."""
    options = [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", f"-DCMAKE_PREFIX_PATH={prefix}"]
    check_call([tool("cmake"), "-G", "Ninja", "-S", source, "-B", build, *options])
    check_call([tool("cmake"), "--build", build])


def check_printed(command: list[Path], expected: str) -> None:
    printed = output(command)
    if printed is None or not printed.endswith(expected):
        raise StepError(f"{command[0].name} printed {printed!r}, expected {expected!r} at the end")


def check_package(build: Build) -> int:
    """Installs into a fresh prefix and builds programs outside the tree against it."""
    prefix, work = build.folder / "prefix", build.folder / "package-test"
    for folder in (prefix, work):
        shutil.rmtree(folder, ignore_errors=True)
    check_call([tool("cmake"), "--install", build.folder, "--prefix", prefix])
    source = work / "source"
    shutil.copytree(ROOT / "tests" / "package", source)
    shutil.copytree(ROOT / "examples" / "cpp", source / "examples")
    programs = work / "build"
    build_program(source, programs, prefix)
    model, package = work / "doubled.pt2", work / "package.pt2"
    check_call([programs / "package_test", model, package])
    expected = "input x: f32[s0, 3]\noutput f32[2, 3]: sum 12"
    check_printed([programs / "run_exported", model], expected)
    expected = "1 of 1 kernels are native\n[3, 3]: sum 18"
    check_printed([programs / "run_package", package], expected)
    for name, expected in PRINTED.items():
        check_printed([programs / name], expected)
    check_libtorch_app(work / "app", prefix)
    return 0


def check_libtorch_app(work: Path, prefix: Path) -> None:
    """Builds a project written for PyTorch, unchanged, and runs it."""
    source = work / "source"
    shutil.copytree(ROOT / "examples" / "cpp" / "libtorch_app", source)
    build_program(source, work / "build", prefix)
    program = work / "build" / "example-app"
    check_printed([program], " 0\n 1\n 1\n 0\n[ CPUIntType{4,1} ]")


def check_wheel() -> int:
    """Builds the wheel, installs it into a folder of its own, imports it and builds C++ with it."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    pip = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check"]
    path = os.pathsep.join([str(tool("cmake").parent), os.environ["PATH"]])
    check_call(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", dist, ROOT],
        env=ccache_env({"PATH": path}),
    )
    (wheel,) = dist.glob("taeda-*.whl")
    target = dist / "site"
    check_call([*pip, "install", "-q", "--no-deps", "--target", target, wheel])
    program = "import taeda, sys; print('imported', taeda.__file__)"
    check_call([VENV_PYTHON, "-c", program], cwd=dist, env={"PYTHONPATH": str(target)})
    check_libtorch_app(dist / "app", target / "taeda")
    return 0


def check_sanitizers() -> int:
    """C++ and Python tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    build = Build(folder=ROOT / "build-sanitize", options={"TAEDA_SANITIZE": "ON"})
    build.run()
    undefined = {"UBSAN_OPTIONS": "print_stacktrace=1"}
    status = run_ctest(build, env={"ASAN_OPTIONS": "detect_leaks=1", **undefined})
    # The interpreter is not instrumented: the sanitizer is preloaded, libstdc++ with it so that it
    # finds the functions that throw, and what Python never frees is no leak of ours.
    libraries = [
        output(["g++", f"-print-file-name={name}.so"]) for name in ("libasan", "libstdc++")
    ]
    env = {
        "LD_PRELOAD": " ".join(os.path.realpath(library) for library in libraries if library),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        **undefined,
    }
    return max(status, run_pytest(build, "-m", "not slow and not full", env=env))


def find_python(version: str) -> Path | None:
    """An interpreter of `version`: from PATH, else from pyenv's folder."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += sorted(
        map(str, pyenv.glob(f"versions/{version}*/bin/python{version}")), reverse=True
    )
    for candidate in candidates:
        if candidate and output([candidate, "-c", "import ensurepip"]) is not None:
            return Path(candidate)
    return None


def check_python(main: Build, version: str, python: Path) -> int:
    """Builds the extension for another Python on `main`'s library, and runs the Python tests."""
    folder = ROOT / f"build-py{version}"
    interpreter = ensure_runtime_venv(python, folder / "venv")
    build = Build(
        folder=folder,
        python=interpreter,
        options={"TAEDA_LIBRARY_BUILD": str(main.folder)},
    )
    build.run()
    return run_pytest(build, "-m", "not slow and not full")


def check_cross() -> int:
    """C++ tests of what depends on the instruction set, built and emulated for the other one."""
    architecture = ensure_cross()
    build = Build(
        folder=ROOT / f"build-{architecture}",
        options={
            "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "cross.cmake"),
            "TAEDA_CROSS": architecture,
            "TAEDA_PYTHON": "OFF",
            "TAEDA_BENCH": "OFF",
        },
    )
    build.run()
    if not any((build.folder / "tests").glob("test_*")):
        raise StepError("the cross build has no tests")
    return run_ctest(build, "-R", CROSS_TESTS, env={"CXX": f"{architecture}-linux-gnu-g++"})
