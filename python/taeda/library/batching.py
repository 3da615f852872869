"""vmap rules of custom operators."""

from taeda._C import Tensor, _unwrap_batched
from taeda.func.custom_functions import (
    _RANDOMNESS,
    VmapInfo,
    _check_rule_result,
    _wrap_outputs,
)


def make_batch_rule(rule):
    """A rule `(info, in_dims, *args) -> (outputs, out_dims)` in the form the dispatcher calls."""

    def run(level, batch_size, randomness, args, kwargs):
        values, in_dims = _unwrap_all(args, level)
        options = {name: _unwrap(value, level)[0] for name, value in kwargs.items()}
        info = VmapInfo(batch_size, _RANDOMNESS[randomness])
        outputs, out_dims = _check_rule_result(rule(info, in_dims, *values, **options))
        return _wrap_outputs(outputs, out_dims, level)

    return run


def _unwrap(value, level):
    if isinstance(value, Tensor):
        return _unwrap_batched(value, level)
    if isinstance(value, (list, tuple)):
        values, dims = _unwrap_all(value, level)
        return list(values), list(dims)
    return value, None


def _unwrap_all(values, level):
    pairs = [_unwrap(value, level) for value in values]
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
