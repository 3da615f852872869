"""assert_close: values must agree up to a tolerance; the error says where they differ."""

import collections.abc
import numbers
import sys
import warnings

import taeda

# (rtol, atol) by dtype; everything else must be equal.
_TOLERANCES = {
    taeda.float16: (1e-3, 1e-5),
    taeda.bfloat16: (1.6e-2, 1e-5),
    taeda.float32: (1.3e-6, 1e-5),
    taeda.float64: (1e-7, 1e-7),
    taeda.complex64: (1.3e-6, 1e-5),
    taeda.complex128: (1e-7, 1e-7),
}

# Those of assert_allclose.
_WIDER_TOLERANCES = {
    taeda.float16: (1e-3, 1e-3),
    taeda.float32: (1e-4, 1e-5),
    taeda.float64: (1e-5, 1e-8),
}


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected|.

    Takes tensors, numbers, and sequences and mappings of them. Tolerances come from the dtypes
    unless both are given. `msg` replaces the message, or is called with it.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    options = {
        "allow_subclasses": allow_subclasses,
        "tolerance": None if rtol is None else (rtol, atol),
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    problem = _compare(actual, expected, (), options)
    if problem is None:
        return
    if msg is not None:
        problem = msg(problem) if callable(msg) else msg
    raise AssertionError(problem)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The older form of `assert_close`: wider tolerances, dtypes may differ, NaNs are equal."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, taeda.Tensor):
        actual = taeda.tensor(actual)
    if not isinstance(expected, taeda.Tensor):
        expected = taeda.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _tolerance(actual.dtype, expected.dtype, table=_WIDER_TOLERANCES)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def same(ref, res, *, tol=1e-4, equal_nan=False, exact_dtype=True):
    """Whether two results, tensors and numbers in containers, agree up to a tolerance.

    Objects of classes without an equality of their own agree where their attributes do.
    """
    options = {
        "allow_subclasses": True,
        "tolerance": (tol, tol),
        "equal_nan": equal_nan,
        "check_device": True,
        "check_dtype": exact_dtype,
        "check_layout": True,
        "check_stride": False,
        "takes_all": True,
    }
    return _compare(res, ref, (), options) is None


def _is_record(value):
    is_plain = type(value).__eq__ is object.__eq__ and not callable(value)
    return is_plain and hasattr(value, "__dict__") and not isinstance(value, taeda.Tensor)


def _compare(actual, expected, path, options):
    """The difference as text; None if there is none."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return _at(
                path,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
            )
        keys = range(len(actual))
    elif isinstance(actual, collections.abc.Mapping) and isinstance(
        expected, collections.abc.Mapping
    ):
        if actual.keys() != expected.keys():
            missing = sorted(expected.keys() - actual.keys(), key=str)
            extra = sorted(actual.keys() - expected.keys(), key=str)
            return _at(
                path,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}",
            )
        keys = list(actual)
    elif options.get("takes_all") and type(actual) is type(expected) and _is_record(actual):
        return _compare(vars(actual), vars(expected), path, options)
    else:
        return _compare_leaves(actual, expected, path, options)
    problems = (_compare(actual[k], expected[k], (*path, k), options) for k in keys)
    return next((p for p in problems if p is not None), None)


def _of_numpy(value):
    """An array as a tensor and a scalar of NumPy as a number, where a program uses NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if numpy is not None and isinstance(value, numpy.ndarray):
        return taeda.as_tensor(value)
    return value


def _compare_leaves(actual, expected, path, options):
    if isinstance(actual, taeda.Tensor) == isinstance(expected, taeda.Tensor):
        actual, expected = _of_numpy(actual), _of_numpy(expected)
    if isinstance(actual, taeda.Tensor) and isinstance(expected, taeda.Tensor):
        if not options["allow_subclasses"] and type(actual) is not type(expected):
            raise TypeError(f"{type(actual)} and {type(expected)} are of different types")
        return _compare_tensors(actual, expected, path, options)
    if _is_number(actual) and _is_number(expected):
        return _compare_numbers(actual, expected, path, options)
    if actual is None or expected is None:
        if actual is expected:
            return None
        return _at(path, f"None mismatch: {actual} is not {expected}")
    if options.get("takes_all"):
        is_equal = actual == expected
        is_equal = bool(getattr(is_equal, "all", lambda: is_equal)())
        return None if is_equal else _at(path, f"{actual!r} is not {expected!r}")
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and "
        f"{type(expected)}.{_item(path)}"
    )


def _is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, str)


def _is_number(value):
    return isinstance(value, numbers.Number)


def _item(path):
    keys = "".join(f"[{k!r}]" for k in path)
    return f"\n\nThe failure occurred for item {keys}" if path else ""


def _at(path, text):
    return text + _item(path)


# ---- numbers ----
def _compare_numbers(actual, expected, path, options):
    kinds = (complex, float, int)
    kind = next((k for k in kinds if isinstance(actual, k) or isinstance(expected, k)), int)
    default = {complex: (1e-7, 1e-7), float: (1e-7, 1e-7)}.get(kind, (0.0, 0.0))
    rtol, atol = options["tolerance"] or default
    if options["check_dtype"] and type(actual) is not type(expected):
        text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
        return _at(path, text)
    both_nan = actual != actual and expected != expected
    difference = abs(actual - expected) if not both_nan else 0.0
    if actual == expected or (both_nan and options["equal_nan"]):
        return None
    if not both_nan and difference <= atol + rtol * abs(expected):
        return None
    if isinstance(actual, bool):
        return _at(path, f"Booleans mismatch: {actual} is not {expected}")
    if rtol == atol == 0:
        return _at(
            path,
            f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}\n"
            f"Relative difference: {_relative(difference, expected)}",
        )
    return _at(
        path,
        f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {_relative(difference, expected)} (up to {rtol} allowed)",
    )


def _relative(difference, expected):
    return difference / abs(expected) if expected else float("inf")


# ---- tensors ----
def _attributes(options):
    yield "shape", True
    yield "layout", options["check_layout"]
    yield "device", options["check_device"]
    yield "dtype", options["check_dtype"]


def _compare_tensors(actual, expected, path, options):
    for name, is_checked in _attributes(options):
        one, other = getattr(actual, name), getattr(expected, name)
        if is_checked and one != other:
            return _at(path, f"The values for attribute '{name}' do not match: {one} != {other}.")
    if options["check_stride"] and actual.stride() != expected.stride():
        text = f"do not match: {actual.stride()} != {expected.stride()}."
        return _at(path, f"The values for attribute 'stride()' {text}")
    rtol, atol = options["tolerance"] or _tolerance(actual.dtype, expected.dtype)
    actual, expected = _comparable(actual, expected)
    if actual.numel() == 0 or actual.is_meta:
        return None
    close = taeda.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    if bool(close.all()):
        return None
    return _at(path, _mismatch(actual, expected, ~close, rtol, atol))


def _tolerance(*dtypes, table=_TOLERANCES):
    pairs = [table.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def _comparable(actual, expected):
    """Both on the CPU in a dtype that holds either; tensors without data stay where they are."""
    actual, expected = actual.detach(), expected.detach()
    if not (actual.is_meta and expected.is_meta):
        actual, expected = actual.cpu(), expected.cpu()
    dtype = actual.dtype
    if dtype != expected.dtype:
        dtype = taeda.promote_types(dtype, expected.dtype)
    if dtype.is_floating_point and dtype.itemsize == 1:
        dtype = taeda.float32
    return actual.to(dtype), expected.to(dtype)


def _mismatch(actual, expected, differs, rtol, atol):
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(taeda.int64), expected.to(taeda.int64)
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    total, count = differs.numel(), int(differs.sum())
    relation = "equal" if rtol == atol == 0 else "close"
    name = "Scalars" if actual.dim() == 0 else "Tensor-likes"
    if actual.dim() == 0:
        lines = [f"Expected {expected.item()} but got {actual.item()}."]
    else:
        lines = [f"Mismatched elements: {count} / {total} ({count / total:.1%})"]
    for title, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        lines.append(_greatest(title, values, differs, allowed, relation))
    return f"{name} are not {relation}!\n\n" + "\n".join(lines)


def _greatest(title, values, differs, allowed, relation):
    values = taeda.where(differs, values, taeda.zeros_like(values))
    bound = f" (up to {allowed} allowed)" if relation == "close" else ""
    if values.dim() == 0:
        return f"{title.capitalize()} difference: {values.item()}{bound}"
    flat = int(values.flatten().argmax())
    index = []
    for size in reversed(values.shape):
        flat, position = divmod(flat, size)
        index.append(position)
    index = tuple(reversed(index))
    return f"Greatest {title} difference: {values[index].item()} at index {index}{bound}"
