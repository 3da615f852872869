"""Functions of PyTorch's own tests: calls with a seed, and random state put back."""

import contextlib

import taeda


def wrapper_set_seed(op, *args, **kwargs):
    """`op(*args, **kwargs)` with the seed 42; the state of the generator is put back."""
    with freeze_rng_state():
        taeda.manual_seed(42)
        return op(*args, **kwargs)


@contextlib.contextmanager
def freeze_rng_state():
    """Puts the state of the default generator back at the end."""
    state = taeda.get_rng_state()
    try:
        yield
    finally:
        taeda.set_rng_state(state)
