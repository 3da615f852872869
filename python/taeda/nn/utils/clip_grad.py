"""Limits for gradients: of their norm over all parameters, or of each element."""

from warnings import warn

from taeda import _C
from taeda.autograd.grad_mode import no_grad


def _listed(parameters):
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)


def _grads(parameters):
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _by_device(tensors):
    """Lists that an operator over lists takes."""
    groups = {}
    for tensor in tensors:
        groups.setdefault(tensor.device, []).append(tensor)
    return groups.items()


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of the norms of the tensors: that of all their elements."""
    tensors, norm_type = _listed(tensors), float(norm_type)
    if not tensors:
        return _C.tensor(0.0)
    device = tensors[0].device
    with no_grad():
        norms = [norm.to(device) for norm in _C._foreach_norm(tensors, norm_type)]
        total = _C._linalg.vector_norm(_C.stack(norms), norm_type)
    if error_if_nonfinite and not bool(_C.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients down by a norm that is known."""
    with no_grad():
        # Multiplying by one where nothing is to be done spares a wait for the value.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for device, grads in _by_device(_grads(parameters)):
            _C._foreach_mul_(grads, factor.to(device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients so that their norm, taken over all, is at most `max_norm`.

    Returns the norm before. `foreach` chooses operators over lists in PyTorch; here all use them.
    """
    parameters = _listed(parameters)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits each element of the gradients to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    with no_grad():
        for _, grads in _by_device(_grads(parameters)):
            _C._foreach_clamp_min_(grads, -clip_value)
            _C._foreach_clamp_max_(grads, clip_value)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of clip_grad_norm_."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
