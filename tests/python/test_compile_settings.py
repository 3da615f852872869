"""Settings and marks that say how programs are compiled: when they are read, and what they do."""

import warnings

import pytest
from under_test import NAME, t

CompileCounter = t._dynamo.testing.CompileCounter
config = t._dynamo.config


@pytest.fixture(autouse=True)
def fresh():
    """No test sees what another compiled."""
    t._dynamo.reset()


def graphs_of(function, *calls, around=None, **settings):
    """How many graphs the calls of a compiled function make; `around` is a scope of the calls."""
    counter = CompileCounter()
    compiled = t.compile(function, backend=counter, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if around is None:
            for args in calls:
                compiled(*args)
        else:
            with around:
                for args in calls:
                    compiled(*args)
    return counter.frame_count


def marked(mark, sizes, *dims):
    made = [t.ones(size, 3) for size in sizes]
    for tensor in made:
        mark(tensor, *dims)
    return [(tensor,) for tensor in made]


def plus_one(x):
    return x + 1


def with_length(x, text):
    return x + len(text)


TEXTS = [(t.ones(1), "a" * i) for i in range(5)]


# ---- marks ----


@pytest.mark.parametrize("dynamic", [True, None, False])
def test_sizes_that_are_marked_static_are_no_symbols(dynamic):
    for dims in ((0,), (), ([0, 1],)):
        calls = marked(t._dynamo.mark_static, (4, 6, 8), *dims)
        assert graphs_of(plus_one, *calls, dynamic=dynamic) == 3
        t._dynamo.reset()


def test_other_sizes_of_a_marked_tensor_are_symbols():
    calls = [(t.ones(4, n),) for n in (3, 5, 7)]
    for (tensor,) in calls:
        t._dynamo.mark_static(tensor, 0)
    assert graphs_of(plus_one, *calls, dynamic=True) == 1


def test_sizes_that_may_change_are_symbols_from_the_first_call_on():
    def branching(x):
        return x + 1 if x.shape[0] == 4 else x

    first, *others = [(t.ones(size, 3),) for size in (4, 5, 6)]
    t._dynamo.maybe_mark_dynamic(first[0], 0)
    assert graphs_of(plus_one, first, *others) == 1
    t._dynamo.reset()
    assert graphs_of(branching, first) == 1  # a branch on it is no error
