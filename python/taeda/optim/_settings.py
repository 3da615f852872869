"""Options of optimizers: their checks, and which form of a step they choose."""

from taeda import _C
from taeda.compiler import is_compiling

# The dtypes in which one kernel for the whole step gives the values of one operator after another:
# where every operator rounds to less than it computes in, the results would differ.
_EXACT_IN_ONE_KERNEL = {_C.float32, _C.float64}


def check_size_of_lr(lr):
    """Refuses a learning rate that is several numbers."""
    if isinstance(lr, _C.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_lr(lr, label="Invalid learning rate: {}"):
    """Refuses a learning rate that is no number, or negative."""
    check_size_of_lr(lr)
    check_not_negative(lr, label)


def check_not_negative(value, label):
    """Refuses a negative option; `label` is the message, with a place for the value."""
    if not 0.0 <= value:  # noqa: SIM300 - an error of the comparison names it in this order
        raise ValueError(label.format(value))


def check_betas(betas):
    """Refuses decay rates outside [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_fused(optimizer, fused, foreach, differentiable):
    """Refuses options that a fused step does not go with."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    optimizer._step_supports_amp_scaling = True


def check_steps(state_steps, name="state_steps"):
    """Refuses counts that are plain numbers, as in old programs."""
    if not all(isinstance(step, _C.Tensor) for step in state_steps):
        raise RuntimeError(
            f"API has changed, `{name}` argument must contain a list of singleton tensors"
        )


def check_capturable(params, *scalars, names="params and state_steps", supports_xla=True):
    """Refuses a capturable step of tensors that are not on an accelerator; a compiled one is."""
    if is_compiling():
        return
    devices = _get_capturable_supported_devices(supports_xla)
    for row in zip(params, *scalars):
        types = {tensor.device.type for tensor in row}
        if len(types) != 1 or types.pop() not in devices:
            raise AssertionError(
                f"If capturable=True, {names} must be on supported devices: {devices}."
            )


def is_captured(grad_scale=None, found_inf=None):
    """Whether the step is captured, and its gradients are not to be unscaled by a kernel.

    Such a step runs tensor by tensor, whatever form was asked for: the compiler fuses it, and no
    number is read, neither from states nor, as the kernels of whole steps do, from the options.
    """
    return is_compiling() and grad_scale is None and found_inf is None


def _to_scalar(x):
    """A tensor of one element without its dimensions; a number as it is."""
    return x.squeeze() if isinstance(x, _C.Tensor) and x.dim() != 0 else x


def _get_value(x):
    """The number in a tensor; a number as it is."""
    return x.item() if isinstance(x, _C.Tensor) else x


def _get_scalar_dtype(is_fused=None):
    """The dtype of step counts: they are exact up to 2**24 in float32."""
    is_wide = _C.get_default_dtype() == _C.float64 and not is_fused
    return _C.float64 if is_wide else _C.float32


def _get_capturable_supported_devices(supports_xla=True):
    devices = ["cuda", "xpu", "hpu", _C._get_privateuse1_backend_name()]
    return [*devices, "xla"] if supports_xla else devices


def _get_fused_kernels_supported_devices():
    """The devices that have a kernel for a whole step."""
    return ["cpu"]


def _get_foreach_kernels_supported_devices():
    """The devices on which operators over lists are at least as fast as one by one."""
    return ["cpu", "cuda", _C._get_privateuse1_backend_name()]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Whether a step without a word about its form is fused, and whether it takes lists.

    Fused is the fastest, and chosen where its values are those of one operator after another. A
    captured step is neither (`is_captured`).
    """
    if is_compiling():
        return False, False
    from taeda.nn.parameter import Parameter

    # Few, however many parameters there are.
    kinds = {(type(p), p.dtype, p.device) for p in params if p is not None}
    if differentiable or not {kind for kind, _, _ in kinds} <= {_C.Tensor, Parameter}:
        return False, False
    # One given twice takes its steps one after the other.
    if len(set(map(id, params))) < len(params):
        return False, False
    devices = {device.type for _, _, device in kinds}
    fused = (
        use_fused
        and devices <= set(_get_fused_kernels_supported_devices())
        and {dtype for _, dtype, _ in kinds} <= _EXACT_IN_ONE_KERNEL
    )
    return fused, not fused and devices <= set(_get_foreach_kernels_supported_devices())


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    devices = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        devices = [device for device in devices if device != "cuda"]
    if not (p.device.type in devices and p.is_floating_point()):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {devices} but {p.dtype} and {p.device.type}"
        )
