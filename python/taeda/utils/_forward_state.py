"""The modes and random state of a checkpointed forward, set again for its recomputation."""

import contextlib

import taeda
from taeda import _C
from taeda.amp import autocast, is_autocast_available
from taeda.random import _device_module, fork_rng


def tensors_in(value):
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, _C.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def accelerators_of(args):
    """(device type, sorted indices) of the arguments on devices with states of their own."""
    indices = {}
    for tensor in tensors_in(args):
        if tensor.device.type not in ("cpu", "meta"):
            indices.setdefault(tensor.device.type, set()).add(tensor.device.index or 0)
    return [(device_type, sorted(found)) for device_type, found in indices.items()]


def _autocast_settings(device_type):
    return {
        "device_type": device_type,
        "enabled": _C.is_autocast_enabled(device_type),
        "dtype": _C.get_autocast_dtype(device_type),
        "cache_enabled": _C.is_autocast_cache_enabled(),
    }


class ForwardState:
    """Random states (if asked for) and autocast settings at the time it is made."""

    def __init__(self, args, preserve_rng_state):
        accelerators = accelerators_of(args)
        self._autocast = [
            _autocast_settings(device_type)
            for device_type in ("cpu", *(name for name, _ in accelerators))
            if is_autocast_available(device_type)
        ]
        self._preserve = preserve_rng_state
        self._cpu_state = taeda.get_rng_state() if preserve_rng_state else None
        self._draw_place = _C._fx.draw_place() if preserve_rng_state else None
        self._device_states = []
        for device_type, indices in accelerators if preserve_rng_state else ():
            module = _device_module(device_type)
            if module:
                states = [module.get_rng_state(index) for index in indices]
                self._device_states.append((device_type, indices, states))

    @contextlib.contextmanager
    def again(self):
        """A scope under the same state; the surrounding one comes back at its end."""
        with contextlib.ExitStack() as scope:
            for device_type, indices, _ in self._device_states:
                scope.enter_context(fork_rng(indices, device_type=device_type))
            scope.enter_context(fork_rng([], enabled=self._preserve))
            if self._preserve:
                taeda.set_rng_state(self._cpu_state)
            if self._draw_place is not None:
                scope.callback(_C._fx.set_draw_place, _C._fx.draw_place())
                _C._fx.set_draw_place(self._draw_place)
            for device_type, indices, states in self._device_states:
                module = _device_module(device_type)
                for index, state in zip(indices, states):
                    module.set_rng_state(state, index)
            for settings in self._autocast:
                scope.enter_context(autocast(**settings))
            yield
