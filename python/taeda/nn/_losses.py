"""Loss functions that do more than call their operator."""

from taeda.nn._checks import broadcast_target, weight_size
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
        weight_size(input, weight)
        return _nn._weighted_loss(_nn.mse_loss(input, target, 0), weight, number)
    return _nn.mse_loss(input, target, number)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(l1_loss, (input, target, weight), locals())
    number = reduction_number(reduction, size_average, reduce)
    broadcast_target(input, target)
    if weight is not None:
        weight_size(input, weight)
        return _nn._weighted_loss(_nn.l1_loss(input, target, 0), weight, number)
    return _nn.l1_loss(input, target, number)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared below `delta`, linear above."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(huber_loss, (input, target, weight), locals())
    number = reduction_number(reduction)
    broadcast_target(input, target)
    if weight is not None:
        weight_size(input, weight)
        loss = _nn.huber_loss(input, target, 0, delta)
        return _nn._weighted_loss(loss, weight, number, counts=True)
    return _nn.huber_loss(input, target, number, delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of log-probabilities; 'batchmean' divides by the batch."""
    if has_torch_function_variadic(input, target):
        return _handle_call(kl_div, (input, target), locals())
    if size_average is None and reduce is None and reduction == "mean":
        _warn_of_the_mean()
    by_name = "sum" if reduction == "batchmean" else reduction
    loss = _C.kl_div(
        input, target, reduction_number(by_name, size_average, reduce), log_target=log_target
    )
    return _C.div(loss, input.size(0)) if reduction == "batchmean" and input.dim() else loss


def _warn_of_the_mean():
    from warnings import warn

    warn(
        "reduction: 'mean' divides the total loss by both the batch size and the support size."
        "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
        "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
        stacklevel=3,
    )


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of a normal distribution with variance `var`."""
    if has_torch_function_variadic(input, target, var):
        return _handle_call(gaussian_nll_loss, (input, target, var), locals())
    number = reduction_number(reduction)
    if not isinstance(var, _C.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = _C.full_like(input, var, dtype=_C.result_type(input, var))
    return _nn.gaussian_nll_loss(input, target, var, full, eps, number)


name_missing_operators(globals())
