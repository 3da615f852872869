"""The current accelerator; a plug-in device goes by its own name and does not count as one."""

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available():
    """Whether there is an accelerator at run time."""
    return False


def current_accelerator(check_available=False):
    """The accelerator's device, None where there is none."""
    return None


def device_count():
    """The number of accelerator devices."""
    return 0
