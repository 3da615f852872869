"""Comparisons of what tensors tell without values."""

import pytest
from taeda._prims_common import compare_tensor_meta
from taeda._subclasses.fake_tensor import FakeTensorMode, MetadataMismatchError
from taeda.fx.experimental.symbolic_shapes import ShapeEnv, _constrain_range_for_size

import taeda

FIRST = taeda.ones(2, 3, dtype=taeda.complex64)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (taeda.ones(2, 4, dtype=taeda.complex64), "Shapes .* are not equal"),
        (taeda.ones(2, dtype=taeda.complex64), "Shapes .* are not equal"),
        (taeda.ones(2, 3), "Dtypes .* are not equal"),
        (taeda.ones(2, 3, dtype=taeda.complex64, device="meta"), "Devices .* are not equal"),
        (taeda.ones(3, 2, dtype=taeda.complex64).t(), r"Stride mismatch.*\(mismatched at 0\)"),
        (taeda.ones(3, 3, dtype=taeda.complex64)[1:], "Storage offset mismatch"),
        (FIRST.conj(), "Conj mismatch"),
        (taeda._neg_view(FIRST), "Neg mismatch"),
    ],
)
def test_what_differs_is_named(other, message):
    with pytest.raises(MetadataMismatchError, match=message):
        compare_tensor_meta(FIRST, other, check_strides=True)


def test_strides_and_values_do_not_count():
    compare_tensor_meta(FIRST, taeda.zeros(3, 2, dtype=taeda.complex64).t())
    compare_tensor_meta(FIRST, FIRST.conj(), check_conj=False)


def test_strides_of_dimensions_of_one_element_do_not_count():
    one = taeda.ones(2, 1)
    compare_tensor_meta(one, one.as_strided((2, 1), (1, 7)), check_strides=True)


def test_a_tensor_and_its_fake_are_the_same():
    compare_tensor_meta(FakeTensorMode().from_tensor(FIRST), FIRST, check_strides=True)


def test_sizes_that_only_data_tells():
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env):
        size, other = env.create_unbacked_symint(), env.create_unbacked_symint()
        for number in (size, other):
            _constrain_range_for_size(number, min=0)
        a, b, c = taeda.empty(size, 16), taeda.empty(size, 16), taeda.empty(other, 16)
    compare_tensor_meta(a, b, check_strides=True)
    with pytest.raises(MetadataMismatchError, match="Shapes"):
        compare_tensor_meta(a, c)
    compare_tensor_meta(a, c, check_strides=True, allow_rhs_unbacked=True)
