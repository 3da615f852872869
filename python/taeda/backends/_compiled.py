"""The devices that `compile` makes code for."""


def is_compile_supported(device_type):
    """Whether `compile` makes code for a device, by its name."""
    return device_type.partition(":")[0] == "cpu"
