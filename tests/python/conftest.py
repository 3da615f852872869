"""Random numbers and compiled versions of a test are the same whatever ran before it."""

import gc

import pytest

import taeda

_first_states = {}


@pytest.fixture(autouse=True)
def same_random_numbers(request):
    """Seeds the default generator, and sets a module's RNG back to where its tests began."""
    taeda.manual_seed(0)
    rng = getattr(request.module, "RNG", None)
    if rng is not None:
        bits = rng.bit_generator
        bits.state = _first_states.setdefault(request.module.__name__, bits.state)


@pytest.fixture(autouse=True)
def no_kept_versions():
    """What an earlier test compiled of the same code is compiled again."""
    taeda.compiler.reset()


def pytest_collection_finish():
    """Tens of thousands of tests are objects: collections inside of tests do not look at them."""
    gc.collect()
    gc.freeze()
