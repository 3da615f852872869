"""Autocast regions: operators inside run in the dtype that suits them."""

import functools
import warnings

from taeda import _C

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_LOWER_PRECISIONS = (_C.bfloat16, _C.float16)


def is_autocast_available(device_type):
    """Whether tensors of this device type can be autocast."""
    return _C._is_autocast_available(device_type)


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def _refusal(device_type, dtype):
    """Why a region cannot cast to `dtype` on this device type, or None."""
    if device_type == "cuda" and "cuda" not in _C._registered_devices():
        return "CUDA is not available or torch_xla is imported. Disabling autocast."
    if dtype not in _LOWER_PRECISIONS:
        name = device_type.upper()
        supported = ", ".join(map(str, _LOWER_PRECISIONS))
        return (
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {supported} currently."
        )
    return None


def _tracer_before_autograd():
    """The tracer that writes regions down; None without one."""
    tracer = _C._fx.active_tracer()
    return tracer if tracer is not None and tracer.pre_dispatch else None


class autocast:
    """A region of mixed precision for one device type, as a context manager or a decorator.

    Inside, matrix products and the like take their inputs in `dtype` (by default bfloat16 on the
    CPU and float16 elsewhere), losses and long products in float32; an operator's record names its
    class. Weights are cast once per region unless `cache_enabled` is off. With `enabled=False` the
    region switches an outer one off.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_device_type(device_type)
        self.fast_dtype = _C.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self._cache_enabled = (
            _C.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        refusal = _refusal(device_type, self.fast_dtype) if enabled else None
        if refusal:
            warnings.warn(refusal, stacklevel=2)
        self._enabled = enabled and not refusal
        self._outside = []  # settings to restore, one entry per region entered
        self._nodes = []  # of the graph that is being traced, the same

    def __enter__(self):
        self._outside.append(
            (
                _C.is_autocast_enabled(self.device),
                _C.get_autocast_dtype(self.device),
                _C.is_autocast_cache_enabled(),
            )
        )
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        _C.autocast_increment_nesting()
        tracer = _tracer_before_autograd()
        settings = self.device, self.fast_dtype, self._enabled, self._cache_enabled
        self._nodes.append(tracer and tracer.note_call(_enter_autocast, settings))
        return self

    def __exit__(self, *_):
        if _C.autocast_decrement_nesting() == 0:
            _C.clear_autocast_cache()
        self._set(*self._outside.pop())
        node, tracer = self._nodes.pop(), _tracer_before_autograd()
        if node is not None and tracer is not None:
            tracer.note_call(_exit_autocast, (node,))
        return False

    def _set(self, enabled, dtype, cache_enabled):
        _C.set_autocast_enabled(self.device, enabled)
        _C.set_autocast_dtype(self.device, dtype)
        _C.set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance, func):
    """`func`, run inside the region at every call."""

    @functools.wraps(func)
    def call(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return call


def _enter_autocast(*args):
    region = autocast(*args)
    return region.__enter__()


def _exit_autocast(region):
    region.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """`value` with every eligible tensor in it, or in its containers, cast to `dtype`."""
    if isinstance(value, _C.Tensor):
        is_eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype is not _C.float64
        )
        return value.to(dtype) if is_eligible else value
    if isinstance(value, dict):
        return {
            _cast(key, device_type, dtype): _cast(item, device_type, dtype)
            for key, item in value.items()
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_cast(item, device_type, dtype) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates `forward` of an autograd Function that runs in autocast regions.

    With `cast_inputs` the tensors among the arguments are cast to that dtype and forward runs with
    autocast off; without, forward runs in the caller's region, and so will backward.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        ctx = args[0]
        is_enabled = _C.is_autocast_enabled(device_type)
        ctx._dtype = _C.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_enabled and cast_inputs is None
        if cast_inputs is None or not is_enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            args = _cast(args, device_type, cast_inputs)
            return fwd(*args, **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Decorates `backward` to match `custom_fwd`: it runs in the autocast state of forward."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return backward


def _deprecated(name, instead):
    warnings.warn(
        f"torch.{name} is deprecated. Please use torch.{instead} instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def is_autocast_cpu_enabled():
    """Deprecated form of `is_autocast_enabled("cpu")`."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return _C.is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Deprecated form of `set_autocast_enabled("cpu", enabled)`."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    _C.set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """Deprecated form of `get_autocast_dtype("cpu")`."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return _C.get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """Deprecated form of `set_autocast_dtype("cpu", dtype)`."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    _C.set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """Deprecated form of `get_autocast_dtype("cuda")`."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return _C.get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """Deprecated form of `set_autocast_dtype("cuda", dtype)`."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    _C.set_autocast_dtype("cuda", dtype)
