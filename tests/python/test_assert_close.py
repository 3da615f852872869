"""testing.assert_close: what is close, what is compared, and what a failure says."""

import importlib

import pytest
from under_test import NAME, t

assert_close = importlib.import_module(f"{NAME}.testing").assert_close
same = importlib.import_module(f"{NAME}._dynamo.utils").same


def test_tolerances_come_from_dtypes():
    assert_close(t.tensor([1.0]), t.tensor([1.0 + 1e-6]))
    assert_close(t.tensor([1.0], dtype=t.float16), t.tensor([1.001], dtype=t.float16))
    assert_close(1.0, 1.0 + 1e-9)
    with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
        assert_close(t.tensor([1.0], dtype=t.float64), t.tensor([1.00001], dtype=t.float64))
    assert_close(t.tensor([1.0]), t.tensor([1.1]), rtol=0.2, atol=0.0)


def test_the_message_names_the_greatest_differences():
    with pytest.raises(AssertionError) as error:
        assert_close(t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 2.0], [3.0, 8.0]]))
    assert str(error.value) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 1 / 4 (25.0%)\n"
        "Greatest absolute difference: 4.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5 at index (1, 1) (up to 1.3e-06 allowed)"
    )


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (lambda: t.ones(2), lambda: t.ones(1, 2), "attribute 'shape' do not match"),
        (lambda: t.ones(2), lambda: t.ones(2, dtype=t.float64), "attribute 'dtype' do not match"),
        (lambda: t.tensor([1, 2]), lambda: t.tensor([1, 3]), "Tensor-likes are not equal!"),
        (lambda: [1, 2], lambda: [1], "The length of the sequences mismatch: 2 != 1"),
        (lambda: {"a": [1.0]}, lambda: {"a": [2.0]}, r"occurred for item \['a'\]\[0\]"),
        (lambda: {"a": 1}, lambda: {"b": 1}, "The keys of the mappings do not match"),
        (lambda: True, lambda: False, "Booleans mismatch: True is not False"),
    ],
)
def test_what_is_compared(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_close(actual(), expected())


def test_nan_is_equal_only_when_asked():
    nan = t.tensor([float("nan")])
    assert_close(nan, nan, equal_nan=True)
    with pytest.raises(AssertionError):
        assert_close(nan, nan)


def test_arguments_of_the_call():
    with pytest.raises(ValueError, match="but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "a")
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^mine: Scalars"):
        assert_close(1, 2, msg=lambda text: f"mine: {text}")


@pytest.mark.parametrize(
    ("res", "expected"),
    [
        (t.tensor([1.0, 2.0]), True),
        (t.tensor([1.0, 2.00005]), True),
        (t.tensor([1.0, 2.1]), False),
        (t.tensor([1.0, 2.0, 3.0]), False),
        (t.tensor([1.0, 2.0], dtype=t.float64), False),
    ],
)
def test_same_says_whether_results_agree(res, expected):
    ref = t.tensor([1.0, 2.0])
    assert same([ref, 1], [res, 1]) is expected
    assert same({"a": ref}, {"a": res}) is expected


def test_same_may_overlook_dtypes_and_nan():
    one, two = t.tensor([float("nan")]), t.tensor([float("nan")], dtype=t.float64)
    assert not same(one, two, equal_nan=True)
    assert same(one, two, equal_nan=True, exact_dtype=False)
    assert not same(one, two, exact_dtype=False)


def test_the_older_form():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        t.testing.assert_allclose(t.tensor([1.0, float("nan")]), [1.00005, float("nan")])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        t.testing.assert_allclose(t.ones(2), t.tensor([1.0, 1.001], dtype=t.float64))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match=r"^mine$"):
        t.testing.assert_allclose([1, 2], [1, 3], msg="mine")


def test_arrays_and_scalars_of_numpy():
    numpy = pytest.importorskip("numpy")
    close = t.testing.assert_close
    close(numpy.array([1.0, 2.0]), numpy.array([1.0, 2.0]))
    close(numpy.int64(3), 3)
    close(numpy.bool_(True), True)
    close(numpy.float32(1), numpy.float64(1))
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        close(numpy.array([1.0, 2.0]), numpy.array([1.0, 3.0]))
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        close(numpy.array([1.0]), t.ones(1))


def test_none_tensors_without_data_and_float8():
    close = t.testing.assert_close
    close(None, None)
    for pair in ((None, 1), (1, None), (t.ones(1), None)):
        with pytest.raises(AssertionError, match=r"None mismatch: .* is not "):
            close(*pair)
    close(t.empty(2, device="meta"), t.empty(2, device="meta"))
    with pytest.raises(AssertionError, match="attribute 'shape'"):
        close(t.empty(2, device="meta"), t.empty(3, device="meta"))
    close(t.ones(2).to(t.float8_e5m2), t.ones(2).to(t.float8_e5m2))
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        close(t.ones(2).to(t.float8_e5m2), t.zeros(2).to(t.float8_e5m2))
