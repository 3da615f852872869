"""Loss functions that do more than call their operator."""

from taeda.nn._checks import broadcast_target
from taeda.nn._operators import _C, _nn, name_missing_operators
from taeda.nn._reductions import reduction_number
from taeda.overrides import _handle_call, has_torch_function_variadic


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(mse_loss, (input, target, weight), locals())
    number = reduction_number(reduction, size_average, reduce)
    broadcast_target(input, target)
    if weight is not None:
        return _nn._weighted_loss(_nn.mse_loss(input, target, 0), weight, number)
    return _nn.mse_loss(input, target, number)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(l1_loss, (input, target, weight), locals())
    number = reduction_number(reduction, size_average, reduce)
    broadcast_target(input, target)
    if weight is not None:
        return _nn._weighted_loss(_nn.l1_loss(input, target, 0), weight, number)
    return _nn.l1_loss(input, target, number)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared below `delta`, linear above."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(huber_loss, (input, target, weight), locals())
    number = reduction_number(reduction)
    broadcast_target(input, target)
    if weight is not None:
        loss = _nn.huber_loss(input, target, 0, delta)
        return _nn._weighted_loss(loss, weight, number, counts=True)
    return _nn.huber_loss(input, target, number, delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of log-probabilities; 'batchmean' divides by the batch."""
    if has_torch_function_variadic(input, target):
        return _handle_call(kl_div, (input, target), locals())
    is_batch_mean = reduction == "batchmean" and size_average is None and reduce is None
    number = 3 if is_batch_mean else reduction_number(reduction, size_average, reduce)
    return _C.kl_div(input, target, number, log_target=log_target)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of a normal distribution with variance `var`."""
    if has_torch_function_variadic(input, target, var):
        return _handle_call(gaussian_nll_loss, (input, target, var), locals())
    number = reduction_number(reduction)
    if not isinstance(var, _C.Tensor):
        var = _C.full_like(input, var)
    return _nn.gaussian_nll_loss(input, target, var, full, eps, number)


name_missing_operators(globals())
