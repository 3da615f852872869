"""Operators on the elements that a mask leaves: the others become the value that changes nothing,
the identity of the reduction, and the plain operator does the rest."""

from taeda import _C
from taeda._C import _linalg, _nn
from taeda._type_info import iinfo

_INF = float("inf")
_SMALL_INTEGERS = {_C.bool, _C.uint8, _C.int8, _C.int16, _C.int32}


def _canonical_dim(dim, ndim):
    """The dimensions of a reduction in order; all of them for None and for ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    count = max(ndim, 1)
    dims = []
    for d in (dim,) if isinstance(dim, (int, _C.SymInt)) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -count <= d < count:
            raise IndexError(
                "Dimension out of range "
                f"(expected to be in range of [{-count}, {count - 1}], but got {d})"
            )
        dims.append(d % count)
    return tuple(sorted(dims))


def _input_mask(input, *, mask):
    """The mask as booleans in the shape of the input."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask "
            "(got mask dimensionality higher than of the input)"
        )
    return _C.broadcast_to(mask, input.shape).to(dtype=_C.bool)


def _filled(input, mask, identity):
    """The input with the identity in the places that the mask leaves out."""
    if mask is None:
        return input
    return _C.where(_input_mask(input, mask=mask), input, input.new_full((), identity))


def _lowest(input):
    return -_INF if input.is_floating_point() else iinfo(input.dtype).min


def _highest(input):
    return _INF if input.is_floating_point() else iinfo(input.dtype).max


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return _C.int64 if input.dtype in _SMALL_INTEGERS else input.dtype


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements along `dim` that the mask leaves."""
    dims = _canonical_dim(dim, input.ndim)
    dtype = _sum_dtype(input, dtype)
    return _C.sum(_filled(input, mask, 0), dims, bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements along `dim` that the mask leaves."""
    result = _filled(input, mask, 1).to(dtype=_sum_dtype(input, dtype))
    for d in reversed(_canonical_dim(dim, input.ndim)):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """The sums up to each element along `dim`, of the elements that the mask leaves."""
    (d, *_), dtype = _canonical_dim(dim, input.ndim), dtype or input.dtype
    return _C.cumsum(_filled(input, mask, 0), d, dtype=dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The products up to each element along `dim`, of the elements that the mask leaves."""
    (d, *_), dtype = _canonical_dim(dim, input.ndim), dtype or input.dtype
    return _C.cumprod(_filled(input, mask, 1), d, dtype=dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements along `dim` that the mask leaves."""
    filled = _filled(input, mask, _lowest(input))
    dims = _canonical_dim(dim, input.ndim)
    return _C.amax(filled, dims, bool(keepdim)).to(dtype=dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements along `dim` that the mask leaves."""
    filled = _filled(input, mask, _highest(input))
    dims = _canonical_dim(dim, input.ndim)
    return _C.amin(filled, dims, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the largest of the elements along `dim` that the mask leaves."""
    filled = _filled(input, mask, _lowest(input))
    return _C.argmax(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the smallest of the elements along `dim` that the mask leaves."""
    filled = _filled(input, mask, _highest(input))
    return _C.argmin(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def _counted(input, dim, keepdim, mask):
    """How many elements along `dim` the mask leaves."""
    if mask is None:
        mask = _C.ones(input.shape, dtype=_C.bool, device=input.device)
    return _C.sum(_input_mask(input, mask=mask), _canonical_dim(dim, input.ndim), bool(keepdim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements along `dim` that the mask leaves; NaN where it leaves none."""
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either "
            f"a floating point or complex dtype. Got: {dtype}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _counted(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the elements along `dim` that the mask leaves; NaN where it leaves none."""
    (d, *_) = _canonical_dim(dim, input.ndim)
    is_float = input.is_floating_point()
    filled = _filled(input if is_float else input.to(dtype=_C.float32), mask, float("nan"))
    result = _C.nanmedian(filled, d, keepdim).values
    if is_float:
        return result
    if result.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype=dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The logarithm of the sum of exponentials of the elements along `dim` that the mask leaves."""
    lowest = -_INF if input.is_complex() else _lowest(input)
    dims = _canonical_dim(dim, input.ndim)
    result = _C.logsumexp(_filled(input, mask, lowest), dims, keepdim=keepdim)
    return result.to(dtype=dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """`log(exp(input) + exp(other))`, without the elements that either mask leaves out."""
    filled = _filled(input, input_mask, _lowest(input))
    filled_other = _filled(other, other_mask, _lowest(other))
    return _C.logaddexp(filled, filled_other).to(dtype=dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of order `ord` of the elements along `dim` that the mask leaves."""
    filled = _filled(input, mask, _INF if ord == -_INF else 0)
    order = 2.0 if ord is None else ord
    dims = _canonical_dim(dim, input.ndim)
    return _linalg.vector_norm(filled, order, dims, bool(keepdim), dtype=dtype or input.dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements along `dim` that the mask leaves; NaN where it leaves none."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    if dtype is None:
        dtype = _C.float32 if not (input.is_floating_point() or input.is_complex()) else input.dtype
    wide = dtype if dtype.is_floating_point or dtype.is_complex else _C.float32
    total = sum(input, dim, keepdim=True, dtype=dtype, mask=mask)
    distance = input - total / _counted(input, dim, True, mask)
    squares = sum(distance * distance.conj(), dim, keepdim=keepdim, dtype=wide, mask=mask)
    count = _counted(input, dim, keepdim, mask)
    if correction != 0:
        count = (count.to(dtype=wide.to_real()) - correction).clamp_min(0)
    return (squares / count).to(dtype=dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements along `dim` that the mask leaves."""
    return var(
        input,
        dim,
        unbiased,
        correction=correction,
        keepdim=keepdim,
        dtype=dtype,
        mask=mask,
    ).sqrt()


def softmax(input, dim, *, dtype=None, mask=None):
    """The softmax along `dim` of the elements that the mask leaves; zero at the others."""
    (d, *_), dtype = _canonical_dim(dim, input.ndim), dtype or input.dtype
    return _C.softmax(_filled(input, mask, _lowest(input)), d, dtype=dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of the softmax along `dim` of the elements that the mask leaves."""
    (d, *_), dtype = _canonical_dim(dim, input.ndim), dtype or input.dtype
    return _C.log_softmax(_filled(input, mask, _lowest(input)), d, dtype=dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """The softmax along `dim` of the negated elements that the mask leaves; zero at the others."""
    (d, *_), dtype = _canonical_dim(dim, input.ndim), dtype or input.dtype
    return _nn.softmin(_filled(input, mask, _highest(input)), d, dtype=dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements that the mask leaves, divided by their norm along `dim` or by `eps`."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / length.clamp_min(eps)
