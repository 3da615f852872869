"""Modules that run at the same time, each on its own accelerator."""

from taeda._C import Tensor

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj):
    """The first tensor of a structure, or None."""
    if isinstance(obj, Tensor):
        return obj
    parts = obj.items() if isinstance(obj, dict) else obj
    if not isinstance(obj, (list, tuple, dict)):
        return None
    return next((found for found in map(get_a_var, parts) if found is not None), None)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The output of each module for its inputs, on its device."""
    given = {"inputs": inputs, "kwargs_tup": kwargs_tup, "devices": devices}
    for name, values in given.items():
        if values is not None and len(values) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} "
                f"{len(values)}"
            )
    from taeda import accelerator  # imported after nn

    if not accelerator.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    named = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    return [
        module(*(args if isinstance(args, (list, tuple)) else (args,)), **kwargs)
        for module, args, kwargs in zip(modules, inputs, named)
    ]
