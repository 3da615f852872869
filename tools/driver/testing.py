"""`./run test`: checks, C++ tests and Python tests, ending with pytest's total line."""

import os
import time
from collections.abc import Callable

from driver.build import Build, jobs
from driver.checks import CHECKS
from driver.process import ROOT, StepError, UsageError, call, say, timed, tool

LIMIT_SECONDS = {"--quick": 180, "": 1200}


class Steps:
    """Runs named steps one after another and remembers which failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.start = time.monotonic()

    def run(self, name: str, step: Callable[[], int]) -> None:
        try:
            with timed(name):
                status = step()
        except StepError as error:
            print(error)
            status = 1
        if status != 0:
            say(f"FAILED: {name}")
            self.failed.append(name)

    def seconds(self) -> float:
        return time.monotonic() - self.start


def run_ctest(build: Build, *options: str, env: dict[str, str] | None = None) -> int:
    command = [tool("ctest"), "--test-dir", build.folder, "--output-on-failure"]
    command += ["-j", jobs(), *options]
    # Tests that draw without a seed draw the same numbers in every run. Programs side by side share
    # the cores: threads that spin would keep those of others from working.
    settings = {"TAEDA_SEED": "67280421310721", "GOMP_SPINCOUNT": "0", **(env or {})}
    return call(command, env=settings)


def pytest_targets(build: Build) -> list[str]:
    """The tests of the tree, and those which the generator wrote."""
    generated = build.folder / "gen" / "tests"
    return ["tests", *([str(generated)] if any(generated.rglob("test_*.py")) else [])]


def bytecode_env(build: Build) -> dict[str, str]:
    """Keeps compiled tests beside the build where Python is told to leave none beside its sources.

    Without them every worker of pytest rewrites all assertions again.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return {}
    return {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str((build.folder / "pycache").resolve()),
    }


def run_pytest(build: Build, *options: str, env: dict[str, str] | None = None) -> int:
    build.link_package()
    workers = ["-n", jobs()] if jobs() != "1" else []
    command = [build.python, "-m", "pytest", "-q", *workers, *options, *pytest_targets(build)]
    return call(command, env={**build.python_env(), **bytecode_env(build), **(env or {})})


def run_last_pytest(build: Build, steps: Steps, mode: str) -> int:
    """Pytest, whose last lines also tell of the steps before it; its total line ends the run."""
    notes = []
    if steps.failed:
        notes.append(f"steps that failed before pytest: {', '.join(steps.failed)}")
    limit = LIMIT_SECONDS.get(mode)
    env = {
        "TAEDA_SUMMARY_NOTES": "\n".join(notes),
        "TAEDA_SUMMARY_LIMIT": f"{steps.seconds():.0f} {limit}" if limit else "",
        "PYTHONPATH": os.pathsep.join([build.python_env()["PYTHONPATH"], str(ROOT / "tools")]),
    }
    options = ["-p", "driver.pytest_summary"]
    if mode == "--quick":
        options += ["-m", "not slow and not spared and not full and not peers"]
    elif mode == "--full":
        options += ["-m", ""]
    return run_pytest(build, *options, env=env)


def test_command(arguments: list[str]) -> int:
    """`./run test [--quick|--full|--peers]`."""
    if len(arguments) > 1 or not set(arguments) <= {"--quick", "--full", "--peers"}:
        given = " ".join(arguments)
        raise UsageError(f"cannot take {given}; usage: ./run test [--quick|--full|--peers]")
    mode = arguments[0] if arguments else ""
    if mode == "--peers":
        from driver import peers

        return peers.test_command()
    build = Build()
    build.run()
    steps = Steps()
    for name, check in CHECKS.items():
        steps.run(f"check: {name}", check)
    steps.run("C++ tests", lambda: run_ctest(build))
    if mode == "--full":
        from driver.full import run_full_steps

        run_full_steps(steps, build)
    say("Python tests")
    status = run_last_pytest(build, steps, mode)
    return 1 if status != 0 or steps.failed else 0
