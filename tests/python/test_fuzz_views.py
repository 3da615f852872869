"""Random programs over views, in-place writes, modes, hooks and backward end as in PyTorch.

The golden file holds programs with PyTorch's traces, so that this runs without PyTorch. Its "open"
programs are those on which the two differed when it was written.
"""

from pathlib import Path

import pytest
from fuzz_views import (
    differs,
    explain,
    first_difference,
    generate,
    read_golden,
    report,
    run,
    shrink,
)

import taeda

GOLDEN = read_golden(Path(__file__).parent / "golden" / "fuzz_views.json.gz")


def name(value):
    """The seed stands for all three parameters."""
    return str(value) if isinstance(value, int) else ""


def check(program, expected):
    trace = run(program, taeda)
    if first_difference(trace, expected) is not None:
        pytest.fail(explain(program, trace, expected), pytrace=False)


@pytest.mark.parametrize("seed, program, expected", GOLDEN["agreed"], ids=name)
def test_program(seed, program, expected):
    check(program, expected)


@pytest.mark.xfail(reason="an open difference")
@pytest.mark.parametrize("seed, program, expected", GOLDEN["open"], ids=name)
def test_open_difference(seed, program, expected):
    check(program, expected)


def test_generator_is_stable():
    """A golden program that agreed is what its seed gives."""
    for seed, program, _ in GOLDEN["agreed"]:
        assert generate(seed) == program


def test_a_difference_is_found_and_shrunk():
    """A library that forgets a write is told apart, by the fewest statements."""
    program = ["v0 = t.tensor([1.0, 2.0])", "v1 = v0 * 2", "v2 = v0[0]", "v0.add_(1)", "v1.neg_()"]

    def still_differs(lines):
        broken = [line.replace("add_(1)", "add_(2)") for line in lines]
        return first_difference(run(lines, taeda), run(broken, taeda)) is not None

    assert shrink(program, still_differs) == ["v0 = t.tensor([1.0, 2.0])", "v0.add_(1)"]


@pytest.mark.full
@pytest.mark.xfail(condition=bool(GOLDEN["open"]), reason="there are open differences")
def test_many_programs_against_pytorch():
    torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    for seed in range(1_000_000, 1_002_000):
        program = generate(seed)
        if differs(program, taeda, torch):
            small = shrink(program, lambda p: differs(p, taeda, torch))
            pytest.fail(f"seed {seed}\n{report(small, taeda, torch)}", pytrace=False)
