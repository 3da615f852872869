"""The accelerators that modules and batches are divided over."""

from taeda import _C


def accelerator(device):
    """The device that a number or a name stands for; the CPU is none to divide work over."""
    found = _C.device("cuda", device) if isinstance(device, int) else _C.device(device)
    if found.type == "cpu":
        raise ValueError(f"Expected a non cpu device, but got: {found}")
    return found
