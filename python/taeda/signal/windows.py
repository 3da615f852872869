"""Window functions of signal processing, as weights of evenly spaced points.

Each takes the number of points `M`; `sym` makes the window symmetric, otherwise it is one period.
"""

from math import pi, sqrt

from taeda import _C

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Options:
    """Where a window lies and what it is made of, checked."""

    def __init__(self, name, M, dtype, layout, device, requires_grad):
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not _C.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        self.dtype = _C.get_default_dtype() if dtype is None else dtype
        if self.dtype not in (_C.float32, _C.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {self.dtype}")
        self.place = {"layout": layout, "device": device, "requires_grad": requires_grad}

    def empty(self):
        return _C.empty((0,), dtype=self.dtype, **self.place)

    def ones(self):
        return _C.ones((1,), dtype=self.dtype, **self.place)

    def points(self, start, end, M):
        return _C.linspace(start, end, M, dtype=self.dtype, **self.place)


def _options(name, M, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    return _Options(name, M, dtype, layout, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, **options):
    """Weights that fall off exponentially from `center`."""
    place = _options("exponential", M, **options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return place.empty()
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    constant = 1 / tau
    return _C.exp(-_C.abs(place.points(-center * constant, (-center + M - 1) * constant, M)))


def cosine(M, *, sym=True, **options):
    """Half a period of the sine."""
    place = _options("cosine", M, **options)
    if M == 0:
        return place.empty()
    start = 0.5
    constant = pi / (M + 1 if not sym and M > 1 else M)
    return _C.sin(place.points(start * constant, (start + (M - 1)) * constant, M))


def gaussian(M, *, std=1.0, sym=True, **options):
    """The bell curve of standard deviation `std`."""
    place = _options("gaussian", M, **options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return place.empty()
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    constant = 1 / (std * sqrt(2))
    return _C.exp(-(place.points(start * constant, (start + (M - 1)) * constant, M) ** 2))


def kaiser(M, *, beta=12.0, sym=True, **options):
    """The window of Kaiser, from the Bessel function `i0`."""
    place = _options("kaiser", M, **options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return place.empty()
    if M == 1:
        return place.ones()
    beta = _C.tensor(beta, dtype=place.dtype, device=place.place["device"])
    start = -beta
    constant = 2.0 * beta / (M if not sym else M - 1)
    end = _C.minimum(beta, start + (M - 1) * constant)
    points = place.points(start, end, M)
    return _C.i0(_C.sqrt(beta * beta - _C.pow(points, 2))) / _C.i0(beta)


def bartlett(M, *, sym=True, **options):
    """A triangle."""
    place = _options("bartlett", M, **options)
    if M == 0:
        return place.empty()
    if M == 1:
        return place.ones()
    start, constant = -1, 2 / (M if not sym else M - 1)
    return 1 - _C.abs(place.points(start, start + (M - 1) * constant, M))


def general_cosine(M, *, a, sym=True, **options):
    """The sum of cosines with the coefficients `a`."""
    place = _options("general_cosine", M, **options)
    if M == 0:
        return place.empty()
    if M == 1:
        return place.ones()
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    constant = 2 * pi / (M if not sym else M - 1)
    points = place.points(0, (M - 1) * constant, M)
    kind = {"dtype": place.dtype, "device": place.place["device"]}
    signed = _C.tensor([(-1) ** i * w for i, w in enumerate(a)], **kind)
    steps = _C.arange(len(a), **kind)
    return (signed.unsqueeze(-1) * _C.cos(steps.unsqueeze(-1) * points)).sum(0)


def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """`alpha` less the rest of a cosine."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M, *, sym=True, **options):
    """The window of Hamming."""
    return general_hamming(M, sym=sym, **options)


def hann(M, *, sym=True, **options):
    """The window of von Hann."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M, *, sym=True, **options):
    """The window of Blackman."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M, *, sym=True, **options):
    """The window of Nuttall with the lowest side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
