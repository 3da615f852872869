"""nn.parallel without an accelerator: names, structures and PyTorch's errors."""

from collections import namedtuple

import pytest
from under_test import t

parallel = t.nn.parallel
Pair = namedtuple("Pair", "a b")
X = t.ones(4, 2)


def test_what_is_no_tensor_is_shared():
    shared = ["x", {"a": 3}, [1, (2, Pair(3, 4))]]
    for value in shared:
        assert parallel.scatter(value, [0, 1]) == [value, value]
    assert parallel.scatter([], [0, 1]) == [[], []]
    assert type(parallel.scatter(Pair(1, 2), [0])[0]) is Pair


def test_arguments_and_keywords_of_each_device():
    scatter_kwargs = parallel.scatter_gather.scatter_kwargs
    assert scatter_kwargs((1,), {"a": 2}, [0, 1]) == (((1,), (1,)), ({"a": 2}, {"a": 2}))
    assert scatter_kwargs((1,), None, [0, 1]) == (((1,), (1,)), ({}, {}))


REFUSED = {
    "scatter": (lambda: parallel.scatter(X, ["cpu"]), ValueError, "Expected a non cpu device"),
    "gather": (lambda: parallel.gather([X, X], "cpu"), AssertionError, "Gather function not"),
    "gather_dict": (
        lambda: parallel.gather([{"a": X}, {}], "cpu"),
        ValueError,
        "All dicts must have the same number of keys",
    ),
    "replicate": (
        lambda: parallel.replicate(t.nn.Linear(2, 2), [0]),
        AssertionError,
        "Broadcast function not implemented for CPU tensors",
    ),
    "parallel_apply": (
        lambda: parallel.parallel_apply([t.nn.Identity()], [X]),
        RuntimeError,
        "Cannot access accelerator device when none is available",
    ),
    "parallel_apply_count": (
        lambda: parallel.parallel_apply([t.nn.Identity()], [X, X]),
        AssertionError,
        "The number of modules 1 is not equal to the number of inputs 2",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    if t.accelerator.is_available():
        pytest.skip("there is an accelerator to divide work over")
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call()


def test_no_devices():
    assert parallel.replicate(t.nn.Linear(2, 2), []) == []
    assert parallel.gather([None, None], "cpu") is None
