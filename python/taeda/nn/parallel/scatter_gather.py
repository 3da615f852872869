"""Tensors inside structures, divided over accelerators and brought together again."""

from taeda import _C
from taeda.nn.parallel._devices import accelerator

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_asdict") and hasattr(value, "_fields")


def scatter(inputs, target_gpus, dim=0):
    """One structure per device: tensors in parts along `dim`, anything else shared by all."""
    if isinstance(inputs, _C.Tensor):
        devices = [accelerator(device) for device in target_gpus]
        parts = inputs.chunk(len(devices), dim)
        return tuple(part.to(device) for part, device in zip(parts, devices))
    if not isinstance(inputs, (tuple, list, dict)) or not inputs:
        return [inputs for _ in target_gpus]
    items = inputs.items() if isinstance(inputs, dict) else inputs
    rows = zip(*(scatter(item, target_gpus, dim) for item in items))
    if _is_namedtuple(inputs):
        return [type(inputs)(*row) for row in rows]
    # Tuples of any class become plain ones, as in PyTorch.
    make = tuple if isinstance(inputs, tuple) else type(inputs)
    return [make(row) for row in rows]


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """(arguments, keyword arguments) of each device, as many of one as of the other."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(args), len(named))
    args = [*args, *[()] * (count - len(args))]
    named = [*named, *[{} for _ in range(count - len(named))]]
    return tuple(args), tuple(named)


def gather(outputs, target_device, dim=0):
    """Structures of the devices as one, their tensors joined along `dim` on `target_device`."""
    first = outputs[0]
    if isinstance(first, _C.Tensor):
        return _gathered(outputs, target_device, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(output) for output in outputs):
            raise ValueError("All dicts must have the same number of keys")
        items = ((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
        return type(first)(items)
    parts = (gather(row, target_device, dim) for row in zip(*outputs, strict=True))
    return type(first)._make(parts) if _is_namedtuple(first) else type(first)(parts)


def _gathered(tensors, target_device, dim):
    if any(tensor.device.type == "cpu" for tensor in tensors):
        raise AssertionError("Gather function not implemented for CPU tensors")
    is_cpu = target_device in ("cpu", -1) or target_device == _C.device("cpu")
    device = _C.device("cpu") if is_cpu else accelerator(target_device)
    # A number of each device makes a line of them.
    lines = [t.reshape(1) if t.dim() == 0 else t for t in tensors]
    return _C.cat([line.to(device) for line in lines], dim)
