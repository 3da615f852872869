"""DataParallel: a module's batch divided over devices; one device runs the module itself."""

from taeda import _C, accelerator
from taeda.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _check_devices(device_ids):
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(
            f"[DataParallel] a batch over {len(device_ids)} devices is not supported; one device, "
            "or none, is"
        )


class DataParallel(Module):
    """Runs a module on the batch; with one device or none that is the module itself."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        _check_devices(device_ids)
        self.module = module
        self.dim = dim
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        if self.device_ids:
            self.module.to(_C.device("cuda", self.device_ids[0]))

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """The module on the inputs, on one device; DataParallel alone takes a machine without any."""
    _check_devices(device_ids)
    if not accelerator.is_available():
        raise RuntimeError("device type could not be determined")
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
