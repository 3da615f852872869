"""finfo and iinfo: the numeric limits of dtypes; typename: the name of an object's type."""

from taeda import _C

# Name: bits, mantissa bits, smallest normal exponent, largest value, decimal digits.
_FLOATS = {
    "float64": (64, 52, -1022, (2 - 2**-52) * 2.0**1023, 15),
    "float32": (32, 23, -126, (2 - 2**-23) * 2.0**127, 6),
    "float16": (16, 10, -14, 65504.0, 3),
    "bfloat16": (16, 7, -126, (2 - 2**-7) * 2.0**127, 2),
    "float8_e4m3fn": (8, 3, -6, 448.0, 0),
    "float8_e5m2": (8, 2, -14, 57344.0, 0),
}


def _check_dtype(name, given):
    if not isinstance(given, _C.dtype):
        got = given.__class__.__name__
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {got}")


class finfo:
    """The limits of a floating point dtype; of a complex one, those of its parts."""

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        _check_dtype("finfo", dtype)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        self.dtype = str(dtype.to_real()).rpartition(".")[2]
        self.bits, mantissa, exponent, self.max, digits = _FLOATS[self.dtype]
        self.min = -self.max
        self.eps = 2.0**-mantissa
        self.tiny = self.smallest_normal = 2.0**exponent
        self.resolution = 10.0**-digits

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __reduce__(self):
        return type(self), (getattr(_C, self.dtype),)


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type):
        _check_dtype("iinfo", type)
        if type is _C.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        self.dtype = str(type).rpartition(".")[2]
        self.bits = type.itemsize * 8
        value_bits = self.bits - 1 if type.is_signed else self.bits
        self.min = -(1 << value_bits) if type.is_signed else 0
        self.max = (1 << value_bits) - 1

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __reduce__(self):
        return type(self), (getattr(_C, self.dtype),)


finfo.__module__ = iinfo.__module__ = "taeda"


def typename(obj, /):
    """The name of an object's type with its module; a tensor's is its legacy type name."""
    if isinstance(obj, _C.Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def element_size(dtype):
    """The bytes of one element."""
    return dtype.itemsize
