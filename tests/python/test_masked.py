"""Masked reductions and normalizations: PyTorch's values and gradients, and refusals."""

import pytest
from under_test import t

DIMS = [{}, {"dim": 1}, {"dim": -1, "keepdim": True}, {"dim": (0, 2)}]
ONE_DIM = [{"dim": 1}, {"dim": -1}]
CALLS = [
    ("sum", [], DIMS),
    ("prod", [], DIMS),
    ("amax", [], DIMS),
    ("amin", [], DIMS),
    ("mean", [], DIMS),
    ("logsumexp", [], DIMS),
    ("var", [], [*DIMS, {"dim": 0, "unbiased": False}, {"dim": 0, "correction": 2}]),
    ("std", [], [*DIMS, {"dim": 0, "unbiased": False}, {"dim": 0, "correction": 2}]),
    ("norm", [3.0], DIMS),
    ("norm", [float("-inf")], DIMS),
    ("median", [], ONE_DIM),
    ("cumsum", [], ONE_DIM),
    ("cumprod", [], ONE_DIM),
    ("softmax", [], ONE_DIM),
    ("log_softmax", [], ONE_DIM),
    ("softmin", [], ONE_DIM),
    ("normalize", [2.0], ONE_DIM),
]
VALUES = [[[0.5, -2.0], [1.5, 3.0], [-1.0, 0.25]], [[2.5, 1.0], [-0.5, 4.0], [0.75, -3.0]]]
# Each of the first two leaves an element along every dimension; the second one is broadcast.
MASKS = [
    [[[True, False], [True, True], [False, True]], [[False, True], [True, False], [True, True]]],
    [[True, False], [False, True], [True, True]],
    None,
]


def outcome(library, name, args, options, mask):
    input = library.tensor(VALUES, dtype=library.float64, requires_grad=True)
    mask = None if mask is None else library.tensor(mask)
    result = getattr(library.masked, name)(input, *args, mask=mask, **options)
    finite = library.where(result.isfinite(), result, library.zeros_like(result))
    (grad,) = library.autograd.grad((finite * finite).sum(), input)
    return result.tolist(), grad.tolist()


def flat(values):
    return [x for part in values for x in flat(part)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("mask", MASKS, ids=["whole", "broadcast", "none"])
@pytest.mark.parametrize(
    "name, args, options",
    [(name, args, options) for name, args, several in CALLS for options in several],
    ids=lambda value: str(value),
)
def test_values_and_gradients_are_pytorchs(name, args, options, mask, torch):
    for got, expected in zip(
        outcome(t, name, args, options, mask),
        outcome(torch, name, args, options, mask),
        strict=True,
    ):
        assert flat(got) == pytest.approx(flat(expected), nan_ok=True)


def test_places_count_the_elements_left_out():
    input = t.tensor([[5.0, 1.0, 3.0], [0.0, 2.0, 9.0]])
    mask = t.tensor([False, True, True])
    assert t.masked.argmax(input, 1, mask=mask, dtype=t.int64).tolist() == [2, 2]
    assert t.masked.argmin(input, 1, mask=mask, dtype=t.int64).tolist() == [1, 1]


def test_sums_of_exponentials_of_two_tensors():
    input, other = t.tensor([-100.0, -200.0, -300.0]), t.tensor([-1.0, -2.0, -3.0])
    mask = t.tensor([True, False, True])
    result = t.masked.logaddexp(input, other, input_mask=mask, other_mask=mask)
    assert result.tolist() == [-1.0, float("-inf"), -3.0]


def test_nothing_left_is_the_identity():
    input, mask = t.ones(2, 3), t.zeros(2, 3, dtype=t.bool)
    assert t.masked.sum(input, mask=mask).item() == 0
    assert t.masked.prod(input, mask=mask).item() == 1
    assert t.masked.amax(input, mask=mask).item() == float("-inf")
    assert t.masked.mean(input, mask=mask).isnan().item()


def test_sums_of_small_integers_are_wide():
    assert t.masked.sum(t.ones(3, dtype=t.int8)).dtype == t.int64
    assert t.masked.sum(t.ones(3, dtype=t.int8), dtype=t.int16).dtype == t.int16


@pytest.mark.parametrize(
    "call, error, phrase",
    [
        (lambda: t.masked.mean(t.arange(3)), ValueError, "Could not infer output dtype"),
        (
            lambda: t.masked.sum(t.ones(2), mask=t.ones(1, 2, dtype=t.bool)),
            IndexError,
            "mask dimensionality higher than of the input",
        ),
        (lambda: t.masked.sum(t.ones(2, 2), (0, 0)), RuntimeError, "appears multiple times"),
        (lambda: t.masked.sum(t.ones(2, 2), 2), IndexError, "Dimension out of range"),
        (
            lambda: t.masked.median(t.arange(2), 0, mask=t.zeros(2, dtype=t.bool)),
            ValueError,
            "no fully masked out rows",
        ),
        (
            lambda: t.masked.var(t.ones(2), unbiased=True, correction=1),
            AssertionError,
            "Only one of unbiased and correction",
        ),
    ],
    ids=["mean", "mask", "repeated", "range", "median", "var"],
)
def test_refusals(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()
