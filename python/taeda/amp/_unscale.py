"""Which gradients are unscaled, and the copies of scale and flag on their devices."""

from collections import defaultdict

from taeda import _C
from taeda.autograd.grad_mode import no_grad


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
            _C._amp_foreach_non_finite_check_and_unscale_(
                grads, found_infs.on(device), inv_scales.on(device)
            )
    return found_infs.by_device
