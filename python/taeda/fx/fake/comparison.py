"""Compares fake tensors with what really comes out, operator by operator."""

import taeda
from taeda.fx.fake.tensors import (
    FakeTensor,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)
from taeda.fx.symbolic.numbers import (
    guard_or_false,
    guard_or_true,
    has_free_unbacked_symbols,
    sym_eq,
)
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_leaves, tree_map_only

__all__ = [
    "CrossRefFakeMode",
    "compare_tensor_meta",
    "output_alias_each_other",
    "outputs_alias_inputs",
    "outputs_are_inputs",
    "try_convert_fake_to_real",
]


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, taeda.Tensor)]


def _memory(tensors):
    return [t.untyped_storage()._cdata for t in tensors]


def outputs_alias_inputs(outputs, inputs):
    """Whether an output lies in the memory of an input."""
    return bool(set(_memory(_tensors(inputs))) & set(_memory(_tensors(outputs))))


def outputs_are_inputs(outputs, inputs):
    """Whether an output is an input."""
    given = {id(t) for t in _tensors(inputs)}
    return any(id(t) in given for t in _tensors(outputs))


def output_alias_each_other(outputs):
    """Whether two outputs lie in the same memory."""
    places = _memory(_tensors(outputs))
    return len(set(places)) != len(places)


def try_convert_fake_to_real(ten_list):
    """The real tensors whose fakes these are, where their modes know them; others as they are."""
    found = []
    for t in ten_list:
        real = t.constant if isinstance(t, FakeTensor) else None
        found.append(t if real is None else real)
    return found


def _mismatched_stride(a, b):
    """The first dimension along which the two lie differently in memory; None if there is none."""
    if not guard_or_true(a.numel() > 0):
        return None
    for i, (size, first, second) in enumerate(zip(a.shape, a.stride(), b.stride(), strict=True)):
        if guard_or_true(size > 1) and not guard_or_false(first == second):
            return i
    return None


def compare_tensor_meta(
    a, b, check_sizes=True, check_strides=False, *, allow_rhs_unbacked=False, check_conj=True
):
    """MetadataMismatchError where two tensors differ in size, dtype, device or lazy conjugation,
    and with `check_strides` in how they lie in memory.

    allow_rhs_unbacked: sizes and strides of `b` that only data tells are not compared.
    """
    pairs = {"Dtypes": (a.dtype, b.dtype), "Devices": (a.device, b.device)}
    if check_sizes and not _is_same_shape(a.shape, b.shape, allow_rhs_unbacked):
        raise MetadataMismatchError(f"Shapes {a.shape} and {b.shape} are not equal!")
    for what, (first, second) in pairs.items():
        if first != second:
            raise MetadataMismatchError(f"{what} {first} and {second} are not equal!")
    if check_strides and not (allow_rhs_unbacked and has_free_unbacked_symbols(b)):
        _compare_places(a, b)
    if check_conj and a.is_conj() != b.is_conj():
        raise MetadataMismatchError(
            f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}"
        )
    if a.is_neg() != b.is_neg():
        raise MetadataMismatchError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")


def _is_same_shape(first, second, allow_rhs_unbacked):
    if len(first) != len(second):
        return False
    return all(
        (allow_rhs_unbacked and has_free_unbacked_symbols(b)) or guard_or_false(sym_eq(a, b))
        for a, b in zip(first, second, strict=True)
    )


def _compare_places(a, b):
    where = _mismatched_stride(a, b)
    if where is not None:
        raise MetadataMismatchError(
            f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {where})!"
        )
    if not guard_or_false(a.storage_offset() == b.storage_offset()):
        raise MetadataMismatchError(
            f"Storage offset mismatch! Storage offsets are {a.storage_offset()} and "
            f"{b.storage_offset()}!"
        )


_REFUSED_TAGS = (
    taeda.Tag.dynamic_output_shape,
    taeda.Tag.data_dependent_output,
    taeda.Tag.inplace_view,
)


class CrossRefFakeMode(TorchDispatchMode):
    """Runs every operator on fake tensors too; MetadataMismatchError where the results differ.

    ignore_op_fn: says of an operator whether it is left out. check_strides, check_aliasing: what
    is compared beside sizes, dtypes and devices.
    """

    def __init__(self, ignore_op_fn=None, *, check_strides=True, check_aliasing=True):
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        is_compared = not self.ignore_op_fn(func) and not set(func.tags) & set(_REFUSED_TAGS)
        fake = self._run_fake(func, args, kwargs) if is_compared else None
        result = func(*args, **kwargs)
        if fake is not None:
            self._compare(func, (args, kwargs), result, *fake)
        return result

    def _run_fake(self, func, args, kwargs):
        """(arguments, result) without memory; None for what cannot be fake."""
        mode = FakeTensorMode()
        try:
            given = tree_map_only(taeda.Tensor, mode.from_tensor, (args, kwargs))
            with mode:
                return given, func(*given[0], **given[1])
        except UnsupportedFakeTensorException:
            return None

    def _compare(self, func, real_in, real_out, fake_in, fake_out):
        pairs = list(zip(tree_leaves(real_out), tree_leaves(fake_out), strict=True))
        for index, (real, fake) in enumerate(pairs):
            if isinstance(real, taeda.Tensor):
                self._compare_tensors(func, index, real, fake)
        if not self.check_aliasing:
            return
        for relation in (outputs_alias_inputs, outputs_are_inputs):
            if relation(real_out, real_in) != relation(fake_out, fake_in):
                raise MetadataMismatchError(f"{func}: mismatch in {relation.__name__}")
        if output_alias_each_other(real_out) != output_alias_each_other(fake_out):
            raise MetadataMismatchError(f"{func}: mismatch in outputs_alias_each_other")

    def _compare_tensors(self, func, index, real, fake):
        parts = ["shape", "dtype", "device"]
        facts = {p: (getattr(real, p), getattr(fake, p)) for p in parts}
        if self.check_strides:
            facts["stride"] = (real.stride(), fake.stride())
            facts["storage_offset"] = (real.storage_offset(), fake.storage_offset())
        for part, (expected, got) in facts.items():
            if expected != got:
                raise MetadataMismatchError(
                    f"{func}: found mismatched tensor metadata for output[{index}]: {part} is "
                    f"{expected}, and {got} of the fake tensor"
                )
