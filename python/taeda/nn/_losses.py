"""Loss functions with PyTorch's signatures: reductions by name, or by the old averaging flags."""

from taeda.nn._operators import _C, _nn, name_missing_operators
from taeda.overrides import _handle_call, has_torch_function_variadic

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction_name(reduction, size_average=None, reduce=None, stacklevel=4):
    """The reduction by name; the two flags are PyTorch's older spelling."""
    if size_average is None and reduce is None:
        return reduction
    from warnings import warn

    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead.",
        stacklevel=stacklevel,
    )
    return reduction


def _code(reduction, size_average=None, reduce=None):
    """The operator's number of a reduction."""
    reduction = _reduction_name(reduction, size_average, reduce, stacklevel=5)
    code = _REDUCTIONS.get(reduction)
    if code is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return code


def _check_sizes(input, target):
    if input.size() != target.size():
        from warnings import warn

        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """log_softmax and nll_loss in one; targets are classes or probabilities."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(cross_entropy, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    return _nn.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """The negative log-likelihood of the target classes."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(nll_loss, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    return _nn.nll_loss_nd(input, target, weight, code, ignore_index)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(mse_loss, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    _check_sizes(input, target)
    if weight is not None:
        return _nn._weighted_loss(_nn.mse_loss(input, target, 0), weight, code)
    return _nn.mse_loss(input, target, code)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(l1_loss, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    _check_sizes(input, target)
    if weight is not None:
        return _nn._weighted_loss(_nn.l1_loss(input, target, 0), weight, code)
    return _nn.l1_loss(input, target, code)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared below `beta`, absolute above."""
    if has_torch_function_variadic(input, target):
        return _handle_call(smooth_l1_loss, (input, target), locals())
    code = _code(reduction, size_average, reduce)
    _check_sizes(input, target)
    if beta == 0.0:
        return _nn.l1_loss(input, target, code)
    return _nn.smooth_l1_loss(input, target, code, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared below `delta`, linear above."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(huber_loss, (input, target, weight), locals())
    code = _code(reduction)
    _check_sizes(input, target)
    if weight is not None:
        # Its mean divides by the count, not by the weights.
        loss = _nn._weighted_loss(_nn.huber_loss(input, target, 0, delta), weight, 0)
        return loss if code == 0 else loss.mean() if code == 1 else loss.sum()
    return _nn.huber_loss(input, target, code, delta)


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The cross entropy of probabilities."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(binary_cross_entropy, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    return _nn.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight=None,
):
    """The cross entropy of sigmoid(input)."""
    if has_torch_function_variadic(input, target, weight):
        return _handle_call(binary_cross_entropy_with_logits, (input, target, weight), locals())
    code = _code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return _C.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of log-probabilities; 'batchmean' divides by the batch."""
    if has_torch_function_variadic(input, target):
        return _handle_call(kl_div, (input, target), locals())
    is_batch_mean = reduction == "batchmean"
    code = _code("sum" if is_batch_mean else reduction, size_average, reduce)
    loss = _C.kl_div(input, target, code, log_target=log_target)
    return loss / input.size(0) if is_batch_mean and input.dim() else loss


def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """The negative log-likelihood of a Poisson distribution."""
    if has_torch_function_variadic(input, target):
        return _handle_call(poisson_nll_loss, (input, target), locals())
    code = _code(reduction, size_average, reduce)
    return _C.poisson_nll_loss(input, target, log_input, full, eps, code)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of a normal distribution with variance `var`."""
    if has_torch_function_variadic(input, target, var):
        return _handle_call(gaussian_nll_loss, (input, target, var), locals())
    code = _code(reduction)
    if not isinstance(var, _C.Tensor):
        var = _C.full_like(input, var)
    return _nn.gaussian_nll_loss(input, target, var, full, eps, code)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))"""
    if has_torch_function_variadic(input, target):
        return _handle_call(soft_margin_loss, (input, target), locals())
    return _nn.soft_margin_loss(input, target, _code(reduction, size_average, reduce))


def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """Distances of pairs that are alike (1) or not (-1)."""
    if has_torch_function_variadic(input, target):
        return _handle_call(hinge_embedding_loss, (input, target), locals())
    return _C.hinge_embedding_loss(input, target, margin, _code(reduction, size_average, reduce))


def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """Whether the first input ranks above the second (1) or below (-1)."""
    if has_torch_function_variadic(input1, input2, target):
        return _handle_call(margin_ranking_loss, (input1, input2, target), locals())
    code = _code(reduction, size_average, reduce)
    return _C.margin_ranking_loss(input1, input2, target, margin, code)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """The cosine distance of pairs that are alike (1) or not (-1)."""
    if has_torch_function_variadic(input1, input2, target):
        return _handle_call(cosine_embedding_loss, (input1, input2, target), locals())
    code = _code(reduction, size_average, reduce)
    return _C.cosine_embedding_loss(input1, input2, target, margin, code)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """How much closer the positive is than the negative."""
    if has_torch_function_variadic(anchor, positive, negative):
        return _handle_call(triplet_margin_loss, (anchor, positive, negative), locals())
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    code = _code(reduction, size_average, reduce)
    return _C.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


name_missing_operators(globals())
