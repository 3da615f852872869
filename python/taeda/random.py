"""The default random number generator: seeds, its state, and a scope that sets it back."""

import contextlib

from taeda import get_rng_state, set_rng_state
from taeda._C import (
    _get_default_engine,
    _set_default_engine,
    default_generator,
    initial_seed,
    manual_seed,
    seed,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_default_engine",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_default_engine",
    "set_rng_state",
]


def get_default_engine():
    """The engine of generators that are made without one: "philox" or "mt19937"."""
    return _get_default_engine()


def set_default_engine(engine):
    """Makes `engine` that of new CPU generators and of the default one, at the start of its seed.

    "mt19937" draws the numbers that PyTorch draws on the CPU for the same seed, on one thread;
    "philox" those of `import taeda`. The environment variable TAEDA_RANDOM_ENGINE names the engine
    to start with.
    """
    _set_default_engine(engine)


def _device_module(device_type):
    """`taeda.<device_type>` if it keeps random states of its own, else None."""
    import taeda

    module = getattr(taeda, device_type, None)
    return module if hasattr(module, "get_rng_state") else None


@contextlib.contextmanager
def fork_rng(
    devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None
):
    """Random numbers drawn inside leave no trace: the state is set back at the end.

    `devices` are the indices of devices of `device_type` whose states are set back too, all of them
    when not given; the CPU's state always is.
    """
    if not enabled or device_type == "meta":
        yield
        return
    module = _device_module(device_type) if device_type else None
    if module is None:
        devices = []
    elif devices is None:
        devices = range(module.device_count())
    cpu_state = get_rng_state()
    states = [(device, module.get_rng_state(device)) for device in devices]
    try:
        yield
    finally:
        set_rng_state(cpu_state)
        for device, state in states:
            module.set_rng_state(state, device)
