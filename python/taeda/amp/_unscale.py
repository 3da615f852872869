"""The arithmetic of gradient scaling: unscaling gradients, finding bad ones, adapting the scale."""

import math
from collections import defaultdict

from taeda import _C
from taeda.autograd.grad_mode import no_grad


def _amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale):
    """Multiplies the gradients by `inv_scale` in place; an inf or NaN sets `found_inf` to 1."""
    for grad in grads:
        is_bad = _C.isfinite(grad).all().logical_not().to(found_inf.dtype)
        found_inf.copy_(_C.maximum(found_inf, is_bad))
        if grad.dtype in (_C.float16, _C.bfloat16):
            grad.copy_(grad.float().mul_(inv_scale))
        else:
            grad.mul_(inv_scale)


def _amp_update_scale_(
    scale, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval
):
    """Shrinks the scale after an overflow; grows it after `growth_interval` steps without one."""
    if found_inf.item():
        scale.mul_(scale_backoff_factor)
        growth_tracker.fill_(0)
        return scale
    steps = growth_tracker.item() + 1
    if steps == growth_interval:
        grown = scale * scale_growth_factor
        if math.isfinite(grown.item()):
            scale.copy_(grown)
        steps = 0
    growth_tracker.fill_(steps)
    return scale


class _Copies:
    """A tensor's copies on the devices that asked for one."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.by_device = {}

    def on(self, device):
        if device not in self.by_device:
            self.by_device[device] = self.tensor.to(device=device, copy=True)
        return self.by_device[device]


def _parameters(optimizer):
    for group in optimizer.param_groups:
        for param in group["params"]:
            if not isinstance(param, _C.Tensor):
                raise AssertionError(
                    f"expected param to be torch.Tensor, got {type(param).__name__}"
                )
            yield param


def unscale_grads(optimizer, inv_scale, found_inf, allow_fp16):
    """Unscales the optimizer's gradients; whether one was bad, for each of their devices."""
    groups = defaultdict(list)
    for param in _parameters(optimizer):
        if param.grad is None:
            continue
        if not allow_fp16 and param.grad.dtype == _C.float16:
            raise ValueError("Attempting to unscale FP16 gradients.")
        groups[param.grad.device].append(param.grad)
    inv_scales, found_infs = _Copies(inv_scale), _Copies(found_inf)
    with no_grad():
        for device, grads in groups.items():
            _amp_foreach_non_finite_check_and_unscale_(
                grads, found_infs.on(device), inv_scales.on(device)
            )
    return found_infs.by_device
