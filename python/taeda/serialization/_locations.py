"""Where storages were and where they go: tags of devices, and what restores a storage from one."""

import re
from functools import partial

import taeda

_package_registry = []


def register_package(priority, tagger, deserializer):
    """Adds functions that tag a storage with a location and that restore it from one.

    `tagger(storage)` gives a string or None, `deserializer(storage, location)` a storage or None;
    those of the lowest priority number are asked first, until one has an answer.
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def location_tag(storage):
    """The name of the place where a storage is: "cpu", "cuda:0"."""
    for _, tagger, _ in _package_registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError("don't know how to determine data location of " + taeda.typename(storage))


def default_restore_location(storage, location):
    """The storage at the place that a tag names; RuntimeError where nobody knows it."""
    for _, _, deserializer in _package_registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        "don't know how to restore data location of "
        f"{taeda.typename(storage)} (tagged with {location})"
    )


def _cpu_tag(storage):
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage, location):
    return storage if location == "cpu" else None


def _meta_tag(storage):
    return "meta" if storage.device.type == "meta" else None


def _meta_deserialize(storage, location):
    if location == "meta":
        return taeda.UntypedStorage(storage.nbytes(), device="meta")
    return None


def _device_tag(storage):
    """Of every other device, plug-ins included."""
    return str(storage.device)


def _device_deserialize(storage, location):
    match = re.fullmatch(r"([a-z_0-9]*[a-z_])(?::?([0-9]+))?", location)
    if match is None or not _is_device_name(match[1]):
        return None
    return storage.to(device=_validate_device(location, match[1]))


def _is_device_name(name):
    try:
        taeda.device(name)
    except RuntimeError:
        return False
    return True


def _validate_device(location, backend_name):
    """The device of a tag; RuntimeError where this machine or build has none such."""
    device = taeda.device(location)
    module = getattr(taeda, backend_name, None)
    advice = (
        "If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )
    if module is None:
        raise RuntimeError(f"The {backend_name.upper()} device module is not registered. {advice}")
    if hasattr(module, "is_available") and not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {backend_name.upper()} device but "
            f"torch.{backend_name}.is_available() is False. {advice}"
        )
    index = device.index or 0
    if hasattr(module, "device_count") and index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {backend_name.upper()} device {index} but "
            f"torch.{backend_name}.device_count() is {module.device_count()}. Please use "
            "torch.load with map_location to map your storages to an existing device."
        )
    return device


def validate_cuda_device(location):
    """The index of a CUDA device that a tag names; RuntimeError where there is none."""
    return _validate_device(location, "cuda").index


def validate_hpu_device(location):
    """The index of an HPU that a tag names; RuntimeError where there is none."""
    return _validate_device(location, "hpu").index


register_package(10, _cpu_tag, _cpu_deserialize)
register_package(22, _meta_tag, _meta_deserialize)
register_package(30, _device_tag, _device_deserialize)


def _get_restore_location(map_location):
    """A function of a storage and its tag, from any form that `load(map_location=...)` takes."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, tag: default_restore_location(storage, map_location.get(tag, tag))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, taeda.device)):
        return partial(_restore_at, str(map_location))

    def restore(storage, tag):
        result = map_location(storage, tag)
        return default_restore_location(storage, tag) if result is None else result

    return restore


def _restore_at(location, storage, tag):
    return default_restore_location(storage, location)


def _is_meta_location(map_location):
    """Whether all storages go to the meta device, so that none is read."""
    if isinstance(map_location, str):
        return map_location == "meta"
    return isinstance(map_location, taeda.device) and map_location.type == "meta"
