"""CPython's own tests under the evaluator: `python frames_suites.py [--one-in N] [--seed S]`.

Each test function of the named files of the `test` package runs under a hook that only calls
CPython's evaluator, and then evaluated, with hand-backs at one of so many instructions. Exit status
1 where a test that passes so does not pass evaluated; 2 where this CPython came without its tests.
(With any hook installed, CPython's evaluator calls itself for Python functions, so that very deep
recursion ends earlier: one test of 3.13 notices.)
"""

import argparse
import contextlib
import functools
import importlib
import io
import sys
import unittest
from collections.abc import Callable, Iterator

from taeda import _frames

SUITES = (
    "test_with",
    "test_contextlib",
    "test_generators",
    "test_scope",
    "test_exceptions",
    "test_functools",
)


def tests_of(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def evaluated(method: Callable, options: dict[str, object], counts: dict[str, int]) -> Callable:
    """A test's method that runs under a session of its own."""

    @functools.wraps(method)
    def run(*arguments: object, **keywords: object) -> object:
        session = _frames.Session(**options)
        try:
            return session.run(method, *arguments, **keywords)
        finally:
            for key, value in session.counts.items():
                counts[key] = counts.get(key, 0) + value

    return run


def evaluate_test(
    test: unittest.TestCase, forced: dict[str, object], counts: dict[str, int]
) -> None:
    """Puts a test's method under the evaluator."""
    method = getattr(test, test._testMethodName)
    setattr(test, test._testMethodName, evaluated(method, forced, counts))


def run_suite(name: str, change: Callable[[unittest.TestCase], None]) -> set[str]:
    """The tests of a file that do not pass."""
    module = importlib.import_module(f"test.{name}")
    tests = list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
    for test in tests:
        if hasattr(test, "_testMethodName"):  # doctests have no method
            change(test)
    with contextlib.redirect_stderr(io.StringIO()):
        result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite(tests))
    return {str(test) for test, _ in [*result.failures, *result.errors]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one-in", type=int, default=50, help="0: no forced hand-backs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--suites", nargs="*", default=SUITES)
    options = parser.parse_args()
    try:
        importlib.import_module("test.test_with")
    except ImportError:
        print("frames_suites: this CPython came without the test package")
        raise SystemExit(2) from None
    has_failed = False
    forced = {"one_in": options.one_in, "seed": options.seed, "rebuild": True}
    for name in options.suites:
        counts: dict[str, int] = {}
        change = functools.partial(evaluate_test, forced=forced, counts=counts)
        _frames._set_empty_hook(True)
        under_a_hook = run_suite(name, lambda test: None)
        _frames._set_empty_hook(False)
        failed = run_suite(name, change) - under_a_hook
        has_failed |= bool(failed)
        print(
            f"Python {sys.version.split()[0]} {name}: {counts.get('instructions', 0)} instructions,"
            f" {counts.get('hand_backs', 0)} hand-backs, {counts.get('rebuilt', 0)} frames rebuilt,"
            f" {len(failed)} failures {sorted(failed) or ''}"
        )
    raise SystemExit(1 if has_failed else 0)


if __name__ == "__main__":
    main()
