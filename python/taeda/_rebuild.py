"""What pickled tensors are rebuilt by; files name these functions `torch._utils.<name>`."""

import taeda
from taeda import _C


def _restore_location(device):
    """The place of a tensor that has no storage, where `load` was given a map_location."""
    from taeda.serialization._settings import _serialization_tls

    map_location = _serialization_tls.map_location
    if map_location is None:
        return device
    if isinstance(map_location, dict):
        return map_location.get(device, device)
    if isinstance(map_location, (str, taeda.device)):
        return map_location
    raise RuntimeError(
        "Callable map_location not supported with _rebuild_wrapper_subclass or "
        "_rebuild_device_tensor_from_numpy"
    )


def _untyped(storage):
    return storage if isinstance(storage, _C.UntypedStorage) else storage._untyped_storage


def _plain(storage, dtype, storage_offset, size, stride):
    """A tensor over the storage; one without memory gives a fake tensor of the device it is for."""
    storage = _untyped(storage)
    tensor = _C._tensor_over(storage, dtype, storage_offset, tuple(size), tuple(stride))
    fake_device = getattr(storage, "_fake_device", None)
    if fake_device is None:
        return tensor
    fake = _C.empty(0, dtype=dtype, device=_restore_location(fake_device))
    return fake.set_(storage, storage_offset, tuple(size), tuple(stride))


def _with_flags(tensor, metadata):
    """The view that the flags of a saved tensor describe."""
    if metadata and metadata.get("conj", False):
        tensor = tensor.conj().detach()
    if metadata and metadata.get("neg", False):
        tensor = tensor._neg_view().detach()
    return tensor


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _plain(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
):
    tensor = _plain(storage, storage.dtype, storage_offset, size, stride)
    tensor = _with_flags(tensor, metadata)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    tensor = _with_flags(_plain(storage, dtype, storage_offset, size, stride), metadata)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return taeda.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return set_object_state(taeda.nn.Parameter(data, requires_grad), state)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return _C.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_wrapper_subclass(
    cls, dtype, size, stride, storage_offset, layout, device, requires_grad
):
    return _C.Tensor._make_wrapper_subclass(
        cls,
        size,
        strides=stride,
        dtype=dtype,
        storage_offset=storage_offset,
        layout=layout,
        device=_restore_location(device),
        requires_grad=requires_grad,
    )


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    if not data.is_contiguous():
        raise RuntimeError(
            f"the file has a tensor of shape {tuple(data.shape)} and stride {data.stride()} for "
            "another device, where one without gaps and repetitions is expected"
        )
    return data.to(dtype=dtype, device=_restore_location(device)).requires_grad_(requires_grad)


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    return _rebuild_device_tensor_from_cpu_tensor(
        taeda.from_numpy(data), dtype, device, requires_grad
    )


def _refuse(kind):
    raise NotImplementedError(
        f"the file has a {kind} tensor, which Taeda does not have; dense tensors are supported"
    )


def _rebuild_sparse_tensor(layout, data):
    _refuse("sparse")


def _rebuild_qtensor(
    storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks
):
    _refuse("quantized")


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    _refuse("nested")


FUNCTIONS = (
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_nested_tensor,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
)
# Where pickles look for them.
for _function in FUNCTIONS:
    _function.__module__ = "taeda._utils"


def set_tensor(tensor, state):
    """Gives a tensor the storage, offset, size and stride that PyTorch's first files have."""
    storage, storage_offset, size, stride = state
    dtype = getattr(storage, "dtype", tensor.dtype)
    tensor.set_(_C._tensor_over(_untyped(storage), dtype, storage_offset, tuple(size), stride))


def set_state(tensor, state):
    """Tensor.__setstate__: of files that PyTorch 0.3 and older wrote."""
    if len(state) == 4:
        return set_tensor(tensor, state)
    if len(state) == 5:
        tensor.data = state[0]
        state = (state[3], state[4], state[2])
    tensor.requires_grad_(bool(state[0]))


def get_object_state(obj):
    """The attributes of a tensor of a subclass: a dict, or a pair with those in slots."""
    return obj.__getstate__()


def set_object_state(obj, state):
    """Sets the attributes that `get_object_state` gave."""
    slots = None
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
        state, slots = state
    for attributes in (state, slots):
        for name, value in (attributes or {}).items():
            setattr(obj, name, value)
    return obj


def reduce_generator(generator):
    """Generator.__reduce__: what files of PyTorch have."""
    offset = None if generator.device.type == "cpu" else generator.get_offset()
    state = (generator.initial_seed(), offset, generator.get_state())
    return type(generator), (generator.device,), state


def set_generator_state(generator, state):
    """Generator.__setstate__; in the older stream the bytes of tensors come after the pickle."""
    from taeda.serialization._settings import _serialization_tls

    if _serialization_tls.after_storages is not None:
        _serialization_tls.after_storages.append(lambda: _set_generator(generator, *state))
    else:
        _set_generator(generator, *state)


def _set_generator(generator, seed, offset, state):
    generator.manual_seed(seed)
    if offset is not None:
        generator.set_offset(offset)
    generator.set_state(state)
