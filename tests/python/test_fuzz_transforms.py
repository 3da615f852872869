"""Compositions of `func` transforms over random functions give PyTorch's results.

The golden file holds seeds and PyTorch's results, so that this runs without PyTorch.
"""

from collections import Counter
from pathlib import Path

import pytest
from fuzz_transforms import evaluate, expected_results, is_close, make_case, read_golden
from transform_compositions import COMPOSITIONS

import taeda
import taeda.func

GOLDEN = read_golden(Path(__file__).parent / "golden" / "fuzz_transforms.json.gz")


def check(case, expected):
    found = evaluate(case, taeda)
    if not is_close(found, expected):
        text = f"{case.script()}\n# ours     {found}\n# expected {expected}"
        pytest.fail(text, pytrace=False)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "seed, expected",
    [pytest.param(s, e, id=f"{make_case(s).composition}-{s}") for s, e in GOLDEN],
)
def test_composition(seed, expected):
    check(make_case(seed), expected)


def test_every_composition_is_tried():
    counts = Counter(make_case(seed).composition for seed, _ in GOLDEN)
    assert set(counts) == set(COMPOSITIONS)


@pytest.mark.full
def test_many_compositions_against_pytorch(torch):
    for seed in range(1_000_000, 1_002_000):
        case = make_case(seed)
        expected = expected_results(case, torch)
        if expected is not None:
            check(case, expected)
