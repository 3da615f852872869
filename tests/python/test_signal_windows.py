"""Window functions: PyTorch's values, and refusals."""

import pytest
import taeda.signal.windows as windows
from under_test import t

CALLS = [
    ("bartlett", {}),
    ("blackman", {}),
    ("cosine", {}),
    ("exponential", {"tau": 2.0}),
    ("gaussian", {"std": 0.9}),
    ("general_cosine", {"a": [0.46, 0.23, 0.31]}),
    ("general_hamming", {"alpha": 0.6}),
    ("hamming", {}),
    ("hann", {}),
    ("kaiser", {"beta": 5.0}),
    ("nuttall", {}),
]


@pytest.mark.parametrize("name, options", CALLS, ids=[name for name, _ in CALLS])
def test_values_are_pytorchs(name, options, torch):
    for length in (0, 1, 2, 7, 10):
        for sym in (True, False):
            got = getattr(windows, name)(length, sym=sym, dtype=t.float64, **options)
            expected = getattr(torch.signal.windows, name)(
                length, sym=sym, dtype=torch.float64, **options
            )
            assert got.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_triangle():
    assert windows.bartlett(5).tolist() == [0, 0.5, 1, 0.5, 0]


@pytest.mark.parametrize(
    "call, phrase",
    [
        (lambda: windows.hann(-1), "requires non-negative window length, got M=-1"),
        (lambda: windows.hann(3, dtype=t.float16), "expects float32 or float64 dtypes"),
        (lambda: windows.gaussian(3, std=0), "Standard deviation must be positive"),
        (lambda: windows.kaiser(3, beta=-1), "beta must be non-negative"),
    ],
)
def test_refusals(call, phrase):
    with pytest.raises(ValueError, match=phrase):
        call()
