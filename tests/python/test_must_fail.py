"""Tests that bad calls raise the expected exception with the expected phrase, and break nothing."""

import collections

import pytest
from must_fail_cases import CASES
from under_test import t


@pytest.fixture(autouse=True)
def intact_afterwards():
    yield
    assert t.get_default_dtype() == t.float32
    assert (t.arange(4) + 1).tolist() == [1, 2, 3, 4]


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=[f"{case.group}: {case.source}" for case in CASES])
def test_call_fails(case):
    with pytest.raises(case.error) as raised:
        exec(case.source, {"t": t})
    if raised.type is NotImplementedError:  # It is a RuntimeError, but says something else.
        assert case.error is NotImplementedError
    assert case.phrase in str(raised.value)


def test_table_is_large_and_has_no_repeats():
    counts = collections.Counter(case.source for case in CASES)
    assert [source for source, count in counts.items() if count > 1] == []
    assert len(CASES) >= 170


def test_failed_in_place_calls_change_nothing():
    a = t.ones(3)
    for call in (
        lambda: a.add_(t.ones(2, 3)),
        lambda: a.scatter_(0, t.tensor([0, 7]), 5.0),
        lambda: a.add_(1j),
        lambda: a.masked_fill_(t.ones(4, dtype=t.bool), 9),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert a.shape == (3,) and a[1:].tolist() == [1.0, 1.0]


def test_out_of_memory_leaves_the_process_working():
    for _ in range(3):
        with pytest.raises(RuntimeError, match=str(4 * 2**50)):
            t.empty(2**50)
    assert t.ones(1000).sum().item() == 1000
