"""Tests of Tensor methods that are written by hand: order of dimensions, truth, arrays, types."""

import warnings

import pytest
from under_test import t


class TestOrderOfDimensions:
    def test_outermost_comes_first(self):
        assert t.ones(2, 3, 4).dim_order() == (0, 1, 2)
        assert t.ones(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
        x = t.ones(2, 3, 4, 5).to(memory_format=t.channels_last)
        assert x.dim_order() == (0, 2, 3, 1)

    def test_dimensions_of_one_element_stay(self):
        assert t.ones(1, 3).t().dim_order() == (0, 1)
        assert t.ones(2, 1, 3, 4).permute(3, 1, 0, 2).dim_order() == (2, 1, 3, 0)

    def test_ambiguous_orders_are_refused_on_request(self):
        assert t.ones(3, 4).t().dim_order(ambiguity_check=True) == (1, 0)
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            t.ones(2, 1).dim_order(ambiguity_check=True)

    def test_a_memory_format_settles_an_order(self):
        formats = [t.contiguous_format, t.channels_last]
        assert t.ones(1, 2, 3, 4).dim_order(ambiguity_check=formats) == (0, 1, 2, 3)
        assert t.ones(2, 3, 4).permute(2, 0, 1).dim_order(ambiguity_check=formats[:1]) == (1, 2, 0)
        for bad in (t.ones(2, 1, 3, 4), t.ones(1, 2, 3, 4)[..., ::2]):
            with pytest.raises(RuntimeError, match="does not have unique dim order"):
                bad.dim_order(ambiguity_check=formats)
        for bad in ("channels_last", (t.channels_last,), [1]):
            with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
                t.ones(2, 3).dim_order(ambiguity_check=bad)


def test_is_nonzero_reads_one_element():
    assert t.is_nonzero(t.tensor([2.0])) and not t.tensor(0).is_nonzero()
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        t.is_nonzero(t.ones(2))


def test_narrow_copy_is_no_view():
    x = t.arange(4)
    copied = x.narrow_copy(0, 1, 2)
    x.zero_()
    assert copied.tolist() == [1, 2]


def test_equality_with_an_array_compares_elements():
    numpy = pytest.importorskip("numpy")
    equal = t.tensor([1.0, 2.0]) == numpy.array([1.0, 0.0])
    assert isinstance(equal, t.Tensor) and equal.tolist() == [True, False]
    assert (t.tensor([1.0]) == [1.0]) is False


def test_a_class_of_python_is_no_type_of_tensors():
    with pytest.raises(ValueError, match="invalid type: 'int'"):
        t.ones(2).type(int)


@pytest.mark.filterwarnings("ignore")
def test_default_type_by_its_older_name():
    try:
        t.set_default_tensor_type(t.DoubleTensor)
        assert t.ones(1).dtype == t.float64
        t.set_default_tensor_type("torch.FloatTensor")
        assert t.ones(1).dtype == t.float32
    finally:
        t.set_default_dtype(t.float32)
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        t.set_default_tensor_type(t.LongTensor)


def test_matrix_transpose_of_a_scalar_is_the_scalar():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert t.tensor(1.0).mT.item() == 1.0
    assert "deprecated on 0-D tensors" in str(caught[0].message)


def test_exchange_without_a_stream_of_the_producer():
    x = t.ones(2)
    assert x.__dlpack__(stream=-1) is not None
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="first")


def test_asarray_without_a_copy_keeps_the_dtype():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Double' into dtype"):
        t.asarray(numpy.ones(2), dtype=t.float32, copy=False)


def test_coordinates_as_a_tuple_have_no_out():
    with pytest.raises(RuntimeError, match="does not support the out kwarg when as_tuple"):
        t.nonzero(t.ones(2), out=t.zeros(0, dtype=t.int64), as_tuple=True)


def test_nothing_is_divided_by_zero():
    empty = t.zeros(0, dtype=t.int64)
    assert (empty // 0).shape == (0,) and (empty % t.zeros(1, dtype=t.int64)).shape == (0,)


class TestVariance:
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize(("dim", "left"), [(None, 1), (0, -1)])
    def test_slope_without_freedom_is_infinite(self, dim, left):
        x = t.tensor([1.0, 3.0, 2.0], requires_grad=True)
        t.var(x, dim, correction=3).backward()
        assert x.grad[:2].tolist() == [left * float("inf"), float("inf")] and x.grad[2].isnan()

    def test_warning_names_the_operator(self):
        for call in (t.var, t.std, t.var_mean):
            with pytest.warns(UserWarning, match=rf"^{call.__name__}\(\): degrees of freedom"):
                call(t.ones(1))


def test_topk_into_its_own_input():
    x = t.tensor([3.0, 1.0, 2.0])
    t.topk(x, 3, out=(x, t.zeros(0, dtype=t.int64)))
    assert x.tolist() == [3.0, 2.0, 1.0]
