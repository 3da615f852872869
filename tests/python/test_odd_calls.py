"""Odd calls of every public callable end in a result or an exception, never in a crash.

The calls run in processes that `odd_calls.py` starts; here are a few thousand of them, the million
of `./run test --full`, and tests that a crash would be seen.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from odd_callables import find_callables
from odd_lines import OddCalls

PROGRAM = Path(__file__).with_name("odd_calls.py")
# They start processes, each of which imports the package.
pytestmark = pytest.mark.slow


def run_program(*arguments):
    command = [sys.executable, PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def check_calls(seed, calls):
    done = run_program("--seed", str(seed), "--calls", str(calls))
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    assert done.stdout.startswith(f"{calls} calls of ")


# Slow for the sanitizers' sake as well, which take a huge allocation for an error.
@pytest.mark.slow
def test_some_calls():
    check_calls(seed=1, calls=6_000)


@pytest.mark.full
def test_a_million_calls():
    check_calls(seed=2, calls=1_000_000)


@pytest.mark.parametrize(
    "line, reason",
    [
        ("__import__('ctypes').string_at(0)", "crashed: SIGSEGV"),
        ("__import__('os').abort()", "crashed: SIGABRT"),
        ("__import__('os')._exit(3)", "ended its process with status 3"),
        ("__import__('time').sleep(100)", "took longer than 1 s"),
        ("exec('raise SystemError')", "SystemError: "),
        ("exec('raise KeyboardInterrupt')", "KeyboardInterrupt, not an Exception: "),
        ("exec('raise RuntimeError(\"internal check failed: x\")')", "RuntimeError: internal"),
    ],
)
def test_what_is_wrong_is_a_finding(line, reason):
    done = run_program("--seconds", "1", "--line", line)
    assert (done.returncode, done.stdout[: len(reason)]) == (1, reason)


@pytest.mark.parametrize("line", ["t.ones(2, 3)", "t.ones(2**31)", "t.ones(2, 3).view(-7)", "1 +"])
def test_a_result_or_an_exception_is_none(line):
    done = run_program("--line", line)
    assert (done.returncode, done.stdout) == (0, "no finding\n")


BROKEN = """
import odd_calls, odd_lines, os, sys

run = odd_lines.complaint
odd_lines.complaint = lambda text: os.abort() if "sum" in text else run(text)
sys.exit(odd_calls.main())
"""


def test_a_crash_is_told_with_its_call():
    """The calls before it and behind it are not blamed, and run."""
    command = [sys.executable, "-c", BROKEN, "--seed", "3", "--calls", "1000", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROGRAM.parent)
    *findings, total = done.stdout.splitlines()
    assert done.returncode == 1 and total.startswith("1000 calls of ")
    assert findings and all("sum" in line for line in findings[::2])
    assert all(line.endswith("crashed: SIGABRT") for line in findings[1::2])


def test_calls_are_the_same_in_any_order():
    one, other = OddCalls(7), OddCalls(7)
    forwards = [one[i][0] for i in range(200)]
    assert forwards == [other[i][0] for i in reversed(range(200))][::-1]
    other.seed = 8
    assert forwards != [other[i][0] for i in range(200)]


def test_callables_are_found():
    """Of every kind one that must be among them."""
    found = {(c.receiver, c.text) for c in find_callables()}
    assert (None, "t.add") in found
    assert (None, "t.nn.functional.relu") in found
    assert (None, "t.func.vmap") in found
    assert (None, "t.ops.aten.add.out") in found
    assert ("Tensor", "add_") in found
    assert ("Tensor", "__getitem__") in found
    assert ("Tensor", "requires_grad") in found
