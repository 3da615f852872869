"""Just-in-time builds of extensions: what is built again, and builders that meet or die.

The sources are plain C++ without Taeda's headers, loaded for their symbols, so that a build takes a
second.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from taeda.utils import _extension_toolchain as toolchain
from taeda.utils import cpp_extension

EXPORTED = 'extern "C" __attribute__((visibility("default"))) int '
SOURCE = f'#include "number.h"\n{EXPORTED}number() {{ return NUMBER; }}\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "number.cpp").write_text(SOURCE)
    (tmp_path / "number.h").write_text("#define NUMBER 1\n")
    return tmp_path


def build(folder, name="number", **options):
    return cpp_extension.load(
        name,
        [str(folder / "number.cpp")],
        build_directory=str(folder / "build"),
        is_python_module=False,
        **options,
    )


def number_of(path):
    return ctypes.CDLL(path).number()


def in_another_process(folder, **options):
    program = (
        "import sys, ctypes\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from test_cpp_builds import build, number_of\n"
        f"print(number_of(build(Path({str(folder)!r}))))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, **options
    )


def test_a_changed_header_builds_again(folder):
    first = build(folder)
    stamp = os.stat(first).st_mtime_ns
    assert build(folder) == first and os.stat(first).st_mtime_ns == stamp
    assert number_of(first) == 1
    (folder / "number.h").write_text("#define NUMBER 2\n")
    second = build(folder)
    # A process cannot load two objects of one name: the new one has a version.
    assert second.endswith("number_v1.so") and number_of(second) == 2
    assert build(folder) == second


def test_a_compiler_error_is_shown_and_leaves_nothing(folder):
    (folder / "number.h").write_text("#define NUMBER nonsense\n")
    with pytest.raises(RuntimeError, match="Error building extension 'number'") as error:
        build(folder)
    assert "'nonsense' was not declared" in str(error.value).replace("‘", "'").replace("’", "'")
    (folder / "number.h").write_text("#define NUMBER 3\n")
    assert number_of(build(folder)) == 3


@pytest.mark.slow
def test_builders_wait_for_each_other(folder):
    builders = [in_another_process(folder) for _ in range(3)]
    assert [b.communicate(timeout=300)[0] for b in builders] == ["1\n"] * 3
    log = (folder / "build" / ".ninja_log").read_text()
    assert log.count("number.so") == 1


def test_sources_of_one_name_in_two_folders(folder):
    (folder / "other").mkdir()
    (folder / "other" / "number.cpp").write_text(f"{EXPORTED}other() {{ return 5; }}\n")
    path = cpp_extension.load(
        "both",
        [str(folder / "number.cpp"), str(folder / "other" / "number.cpp")],
        build_directory=str(folder / "build"),
        is_python_module=False,
    )
    assert (number_of(path), ctypes.CDLL(path).other()) == (1, 5)


@pytest.mark.slow
def test_a_killed_build_does_not_break_the_next(folder):
    # A compiler that takes its time: the builder dies while it runs.
    slow, started, ended = folder / "slow", folder / "started", folder / "ended"
    slow.write_text(
        '#!/bin/sh\ncase "$*" in *" -c "*) ;; *) exec c++ "$@";; esac\n'
        f'touch {started}; sleep 3; c++ "$@"; touch {ended}\n'
    )
    slow.chmod(0o755)
    builder = in_another_process(folder, env={**os.environ, "CXX": str(slow)})
    deadline = time.monotonic() + 120
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.exists()
    builder.send_signal(signal.SIGKILL)
    builder.wait()
    assert number_of(build(folder)) == 1
    # The compiler that was left behind had the folder to itself.
    assert ended.exists()


# ---- ahead of time ----
SETUP = """
from setuptools import setup
from taeda.utils.cpp_extension import BuildExtension, CppExtension
sources = ["one.cpp", "two.cpp"]
setup(name="numbers_ext", ext_modules=[CppExtension("numbers_ext", sources)],
      cmdclass={"build_ext": BuildExtension})
"""


@pytest.mark.slow
def test_a_setup_script_compiles_what_changed(folder):
    pytest.importorskip("setuptools", reason="environments of Python 3.12 and later have none")
    (folder / "setup.py").write_text(SETUP)
    (folder / "one.cpp").write_text(SOURCE)
    (folder / "two.cpp").write_text(f"{EXPORTED}two() {{ return 2; }}\n")

    def run(*options):
        command = [sys.executable, "setup.py", "build_ext", "--inplace", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        stamps = {p.name: p.stat().st_mtime_ns for p in folder.glob("build/**/*.o")}
        return stamps["one.o"], stamps["two.o"], next(folder.glob("numbers_ext*.so"))

    first = run()
    assert run()[:2] == first[:2]
    (folder / "number.h").write_text("#define NUMBER 4\n")
    second = run()
    assert second[0] != first[0] and second[1] == first[1]
    assert number_of(str(second[2])) == 4
    assert run("--force")[1] != second[1]


# ---- other libraries ----
def test_another_library_builds_again(folder, monkeypatch):
    first = build(folder)
    assert build(folder) == first
    monkeypatch.setattr(toolchain, "library_identity", lambda: "another")
    second = build(folder)
    assert second.endswith("number_v1.so") and number_of(second) == 1
    assert build(folder) == second


def test_each_library_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("TAEDA_EXTENSIONS_DIR", "TORCH_EXTENSIONS_DIR"):
        monkeypatch.delenv(name, raising=False)

    def folder_of(package):
        monkeypatch.setattr(toolchain, "package_folder", lambda: package)
        return Path(cpp_extension.get_default_build_root())

    one, two = tmp_path / "one", tmp_path / "two"
    for package in (one, two):
        package.mkdir()
        (package / "libtaeda.so").write_text("first")
    assert folder_of(one) == folder_of(one) != folder_of(two)
    # A build folder's headers say what is old, an installed package's cannot.
    before = folder_of(one)
    (one / "libtaeda.so").write_text("built again")
    assert folder_of(one) == before
    (one / "include").mkdir()
    installed = folder_of(one)
    (one / "libtaeda.so").write_text("another version")
    assert folder_of(one) != installed
    before = folder_of(two)
    monkeypatch.setattr(toolchain.sysconfig, "get_config_var", lambda name: "cpython-399")
    assert folder_of(two) != before


# ---- pybind11 ----
def test_a_copy_of_pybind11_on_the_path_is_found(tmp_path, monkeypatch):
    headers = tmp_path / "pybind11" / "include" / "pybind11"
    headers.mkdir(parents=True)
    (headers / "pybind11.h").touch()
    (tmp_path / "pybind11" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pybind11", raising=False)
    assert str(tmp_path / "pybind11" / "include") in cpp_extension.include_paths()


@pytest.mark.slow
def test_without_pybind11_the_error_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "_pybind_folders", lambda folders: [])
    with pytest.raises(RuntimeError, match="pip install pybind11, or name the folder"):
        cpp_extension.load_inline("unbound", "", build_directory=str(tmp_path))
