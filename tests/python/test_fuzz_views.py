"""Random programs over views, in-place writes, modes, hooks and backward end as in PyTorch.

The golden file holds programs with PyTorch's traces, so that this runs without PyTorch.
"""

from pathlib import Path

import pytest
from fuzz_views import (
    explain,
    find_differences,
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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed, program, expected", GOLDEN, ids=name)
def test_program(seed, program, expected):
    check(program, expected)


def test_generator_is_stable():
    """A golden program is what its seed gives."""
    for seed, program, _ in GOLDEN:
        assert generate(seed) == program


def test_a_difference_is_found_and_shrunk():
    """A library that forgets a write is told apart, by the fewest statements."""
    program = ["v0 = t.tensor([1.0, 2.0])", "v1 = v0 * 2", "v2 = v0[0]", "v0.add_(1)", "v1.neg_()"]

    def still_differs(lines):
        broken = [line.replace("add_(1)", "add_(2)") for line in lines]
        return first_difference(run(lines, taeda), run(broken, taeda)) is not None

    assert shrink(program, still_differs) == ["v0 = t.tensor([1.0, 2.0])", "v0.add_(1)"]


@pytest.mark.full
@pytest.mark.parametrize("first", [1_000_000, 2_000_000, 3_000_000, 4_000_000])
def test_many_programs_against_pytorch(torch, first):
    found = find_differences(range(first, first + 2_000), taeda, torch)
    for programs in found.values():
        seed, program = programs[0]
        pytest.fail(f"seed {seed}\n{report(program, taeda, torch)}", pytrace=False)
