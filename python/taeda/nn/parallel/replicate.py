"""Copies of a module for several accelerators."""

from taeda.nn.parallel._devices import accelerator

__all__ = ["replicate"]


def replicate(network, devices, detach=False):
    """One module per device; Taeda has one accelerator, so there is nothing to copy to yet."""
    devices = [accelerator(device) for device in devices]
    if not devices:
        return []
    if any(t.device.type == "cpu" for t in (*network.parameters(), *network.buffers())):
        raise AssertionError("Broadcast function not implemented for CPU tensors")
    raise NotImplementedError(
        f"[replicate] copies of a module on {len(devices)} devices are not supported; "
        "DataParallel runs the module itself on one"
    )
