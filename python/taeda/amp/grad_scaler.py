"""GradScaler: keeps small float16 gradients from vanishing by scaling the loss."""

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from taeda import _C
from taeda.amp._unscale import unscale_grads

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """Where an optimizer stands between two calls of `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients, skips steps with infs or NaNs, and adapts the scale.

    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()

    The scale shrinks by `backoff_factor` after a step with an overflow and grows by `growth_factor`
    after `growth_interval` steps in a row without one.
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and "cuda" not in _C._registered_devices():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        # Made on the device of the first scaled tensor.
        self._scale = None
        self._growth_tracker = None
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    # ---- scaling ----
    def _scale_on(self, device):
        """The scale's tensor, made at the first call."""
        if self._scale is None:
            self._scale = _C.full((), self._init_scale, dtype=_C.float32, device=device)
            self._growth_tracker = _C.full(
                (), self._init_growth_tracker, dtype=_C.int32, device=device
            )
        return self._scale

    def _check_scale(self, function):
        if self._scale is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not "
                "use scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    def scale(self, outputs):
        """The tensor, or every tensor of an iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            return outputs * self._scale_on(outputs.device).to(device=outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # ---- gradients ----
    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        return unscale_grads(optimizer, inv_scale, found_inf, allow_fp16)

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the scale, for code that reads or clips them."""
        if not self._enabled:
            return
        scale = self._check_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, scale.double().reciprocal().float(), _C.zeros_like(scale), False
        )
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer):
        """Looks for bad gradients without changing any."""
        scale = self._check_scale("_check_inf_per_device")
        found = self._unscale_grads_(optimizer, _C.ones_like(scale), _C.zeros_like(scale), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ---- stepping ----
    def step(self, optimizer, *args, **kwargs):
        """Unscales gradients that are still scaled and steps, unless one is inf or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_scaled(optimizer, state, args, kwargs)
        else:
            result = self._step_unscaled(optimizer, state, args, kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_unscaled(self, optimizer, state, args, kwargs):
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        found = state["found_inf_per_device"]
        if not found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        if any(flag.item() for flag in found.values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_scaled(self, optimizer, state, args, kwargs):
        """For optimizers that unscale by themselves, from attributes or from the scaler given."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale * getattr(optimizer, "grad_scale", 1)
        else:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        optimizer.found_inf = sum(
            flag.to(self._scale.device) for flag in state["found_inf_per_device"].values()
        )
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale
            del optimizer.found_inf

    def update(self, new_scale=None):
        """Adapts the scale to the overflows found since the last call, or sets it."""
        if not self._enabled:
            return
        scale = self._check_scale("update")
        if new_scale is not None:
            self._set_scale(new_scale)
        else:
            found = [
                flag.to(device=scale.device)
                for state in self._per_optimizer_states.values()
                for flag in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _C._amp_update_scale_(
                scale,
                self._growth_tracker,
                sum(found),
                self._growth_factor,
                self._backoff_factor,
                self._growth_interval,
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, new_scale):
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        is_fit = (
            new_scale.device.type == self._device
            and new_scale.numel() == 1
            and not new_scale.requires_grad
        )
        if not is_fit:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        self._scale.copy_(new_scale)

    # ---- settings ----
    def is_enabled(self):
        """Whether scaling is on."""
        return self._enabled

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """The current scale, 1.0 if scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return self._growth_tracker.item()

    def get_growth_factor(self):
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """The factor by which an overflow shrinks the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Sets the factor by which an overflow shrinks the scale."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """The number of good steps in a row after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Sets the number of good steps in a row after which the scale grows."""
        self._growth_interval = new_interval

    # ---- state ----
    def state_dict(self):
        """Everything a later run needs to go on with; empty if scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict):
        """Takes over the values of a `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self):
        state = self.__dict__.copy()
        if not self._enabled:
            return state
        if self._per_optimizer_states:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at "
                "the end after scaler.update()."
            )
        state.update(
            _init_scale=self.get_scale(),
            _init_growth_tracker=self._get_growth_tracker(),
            _scale=None,
            _growth_tracker=None,
        )
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
