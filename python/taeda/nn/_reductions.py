"""How a loss is reduced, by name or by the old averaging flags."""

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def reduction_name(reduction, size_average=None, reduce=None, stacklevel=4):
    """The reduction by name; the two flags are PyTorch's older spelling."""
    if size_average is None and reduce is None:
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    _warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead.",
        stacklevel + 1,
    )
    return reduction


def _warn(text, stacklevel):
    from warnings import warn

    warn(text, stacklevel=stacklevel)


def check_reduction(reduction, size_average=None, reduce=None):
    """ValueError for a name of no reduction, unless the flags say which."""
    is_known = reduction in _NUMBERS or reduction == "elementwise_mean"
    if not is_known and size_average is None and reduce is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduction_number(reduction, size_average=None, reduce=None):
    """The operator's number of a reduction."""
    reduction = reduction_name(reduction, size_average, reduce, stacklevel=4)
    if reduction == "elementwise_mean":
        _warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", 4)
        reduction = "mean"
    number = _NUMBERS.get(reduction)
    if number is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return number


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction by name that the two flags mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        _warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{reduction}' instead.",
            3,
        )
    return reduction


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The operator's number of the reduction that the two flags mean."""
    return reduction_number(legacy_get_string(size_average, reduce, emit_warning))
