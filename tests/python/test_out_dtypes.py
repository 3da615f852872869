"""Tests of out= with another dtype, of out= that is an input, and of numbers outside a dtype."""

import pytest
from under_test import t


def zeros(*sizes, dtype):
    return t.zeros(sizes, dtype=dtype)


class TestDtypeOfOut:
    @pytest.mark.parametrize(
        "call",
        [t.neg, t.abs, t.floor, t.ceil, t.round, t.sign, t.sgn, t.trunc],
        ids=lambda f: f.__name__,
    )
    def test_operators_that_keep_the_dtype_want_it_in_out(self, call):
        with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
            call(t.ones(2), out=zeros(2, dtype=t.float64))
        with pytest.raises(RuntimeError, match="Found dtype Long but expected Int"):
            call(t.ones(2, dtype=t.int32), out=zeros(2, dtype=t.int64))

    def test_absolute_of_complex_goes_into_any_float(self):
        out = zeros(1, dtype=t.float64)
        assert t.abs(t.tensor([3 + 4j]), out=out).tolist() == [5.0]

    def test_limits_given_as_numbers_keep_the_dtype(self):
        with pytest.raises(RuntimeError, match="Found dtype Long but expected Int"):
            t.clamp(t.ones(2, dtype=t.int32), 0, 1, out=zeros(2, dtype=t.int64))
        out = zeros(2, dtype=t.float64)
        assert t.clamp(t.ones(2), t.full((2,), 2.0), out=out).tolist() == [2.0, 2.0]

    def test_where_wants_the_common_dtype(self):
        with pytest.raises(RuntimeError, match="Expected out type to be Float but got Double"):
            t.where(t.ones(2) > 0, t.ones(2), t.ones(2), out=zeros(2, dtype=t.float64))

    def test_overlap_is_named_before_the_dtype(self):
        out = zeros(1, dtype=t.int32).expand(3)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            t.exp(t.ones(3), out=out)


class TestRounding:
    def test_result_is_rounded_before_it_is_widened(self):
        a = t.tensor([1.0, 3.0], dtype=t.bfloat16)
        out = t.div(a, t.tensor([3.0, 7.0], dtype=t.bfloat16), out=zeros(2, dtype=t.float64))
        assert out.tolist() == [0.333984375, 0.427734375]
        half = t.exp(t.tensor([1.0], dtype=t.float16), out=zeros(1, dtype=t.float32))
        assert half.tolist() == [2.71875]

    def test_small_integers_wrap_before_they_are_widened(self):
        a = t.tensor([100], dtype=t.int8)
        assert t.add(a, a, out=zeros(1, dtype=t.int64)).tolist() == [-56]
        yes = t.tensor([True])
        assert t.add(yes, True, out=zeros(1, dtype=t.int64)).tolist() == [1]


class TestNumbers:
    def test_a_number_counts_in_the_dtype_of_small_integers(self):
        a = t.tensor([1, 5], dtype=t.uint8)  # beside which -3 is 253
        assert (a < -3).tolist() == [True, True]
        assert (a < t.tensor(-3)).tolist() == [True, True]
        assert (a // -3).tolist() == [0, 0] and (a % -3).tolist() == [1, 5]
        assert t.maximum(a, t.tensor(-3)).tolist() == [253, 253]
        assert (t.tensor([1], dtype=t.int8) > 2**40).tolist() == [True]
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            a // 256

    def test_limits_of_clamp(self):
        a = t.tensor([1, 5], dtype=t.uint8)
        assert a.clamp(min=-3).tolist() == [253, 253]
        assert t.tensor([True, False]).clamp(min=3).tolist() == [3, 3]
        wide = t.tensor([1000], dtype=t.int32)
        assert t.tensor([5], dtype=t.int8).clamp(min=wide).tolist() == [1000]

    @pytest.mark.parametrize(
        ("call", "name"),
        [
            (lambda: t.ones(2, dtype=t.int8).fill_(300), "int8_t"),
            (lambda: t.full((2,), 40000, dtype=t.int16), "int16_t"),
            (lambda: t.ones(2, dtype=t.int32).fill_(float("nan")), "int"),
            (lambda: t.ones(2).fill_(1e300), "float"),
            (lambda: t.ones(2, dtype=t.float16).fill_(1e6), "c10::Half"),
            (lambda: t.ones(2).masked_fill(t.ones(2) > 0, 1e300), "float"),
            (lambda: t.ones(2, dtype=t.int8).masked_fill(t.ones(2) > 0, 300), "int8_t"),
            (lambda: t.ones(2).clamp(max=1e300), "float"),
            (lambda: t.ones(2, dtype=t.int8).clamp(max=300), "int8_t"),
            (lambda: t.ones(2).add(1, alpha=1e300), "float"),
            (lambda: t.addcmul(t.ones(2), t.ones(2), t.ones(2), value=1e300), "float"),
            (lambda: t.ones(2).scatter(0, t.tensor([0]), 1e300), "float"),
            (lambda: t.ones(2, dtype=t.uint8).index_fill(0, t.tensor([0]), 300), "uint8_t"),
            (lambda: t.ones(2, dtype=t.uint8) ** 300, "uint8_t"),
        ],
    )
    def test_numbers_outside_the_dtype_are_refused(self, call, name):
        phrase = f"value cannot be converted to type {name} without overflow"
        with pytest.raises(RuntimeError, match=phrase):
            call()

    def test_what_fits_passes(self):
        assert t.ones(1, dtype=t.uint8).fill_(-1).item() == 255
        assert t.ones(1).fill_(float("inf")).item() == float("inf")
        assert t.ones(1).fill_(float("nan")).isnan().item()
        assert t.ones(1, dtype=t.int8).fill_(-128).item() == -128
        assert t.ones(1, dtype=t.int64).fill_(2**63 - 1).item() == 2**63 - 1


class TestOutIsInput:
    def test_pointwise_keeps_its_size(self):
        a = t.ones(1, 4)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            t.add(a, t.ones(3, 4), out=a)
        assert t.add(a, 1, out=a).tolist() == [[2.0] * 4]

    @pytest.mark.filterwarnings("ignore:An output with one or more")
    def test_joined_tensors_are_not_resized_while_they_are_read(self):
        a = t.ones(2, 3)
        with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
            t.cat([a, t.ones(3, 3)], out=a)


class TestWhatHasNoGradient:
    @pytest.mark.parametrize(
        "call",
        [
            lambda x, out: t.gt(x, 1.0, out=out),
            lambda x, out: t.eq(x, x, out=out),
            lambda x, out: t.logical_and(x, x, out=out),
            lambda x, out: t.any(x.view(1, 2), 0, out=out),
        ],
        ids=["gt", "eq", "logical_and", "any"],
    )
    def test_goes_into_out_where_inputs_require_grad(self, call):
        out = t.zeros(2, dtype=t.bool)
        x = t.tensor([1.0, 2.0], requires_grad=True)
        call(x, out)
        assert not out.requires_grad

    def test_what_has_one_does_not(self):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            t.exp(t.ones(2, requires_grad=True), out=t.zeros(2))


class TestDtypesOfResults:
    def test_sums_of_einsum_are_int64(self):
        assert t.einsum("ij->i", t.ones(2, 2, dtype=t.int8)).dtype == t.int64
        assert t.einsum("ij->", t.ones(2, 2, dtype=t.bool)).item() == 4
        assert t.einsum("ij->ji", t.ones(2, 2, dtype=t.int8)).dtype == t.int8

    def test_running_sums_in_place_keep_small_integers(self):
        assert t.tensor([100, 100], dtype=t.int8).cumsum_(0).tolist() == [100, -56]
        assert t.tensor([20, 20], dtype=t.uint8).cumprod_(0).tolist() == [20, 144]

    def test_topk_of_a_scalar_is_the_scalar(self):
        values, indices = t.topk(t.tensor(4), 0, 0)
        assert values.item() == 4 and indices.item() == 0


class TestStrides:
    def test_triangles_are_contiguous(self):
        assert t.ones(2, 3).t().tril().stride() == (2, 1)

    def test_filled_slices_keep_the_layout(self):
        assert t.ones(2, 3).t().index_fill(0, t.tensor([0]), 5.0).stride() == (1, 3)

    def test_filled_copies_are_contiguous(self):
        x, mask = t.ones(2, 3).t(), t.ones(3, 2) > 0
        assert x.masked_fill(mask, 5.0).stride() == (2, 1)
        assert x.masked_fill(mask[:1], 5.0).stride() == (2, 1)

    def test_coordinates_lie_in_one_piece_each(self):
        found = t.nonzero(t.tensor([[1, 2], [0, 3]]))
        assert found.tolist() == [[0, 0], [0, 1], [1, 1]] and found.stride() == (1, 3)


class TestMissingLimit:
    def test_infinity_stays_infinity(self):
        x, inf = t.tensor([1, 5]), float("inf")
        assert x.clamp(min=inf).tolist() == [inf, inf]
        assert x.clamp(max=-inf).tolist() == [-inf, -inf]
        assert x.clamp(min=t.tensor(inf)).tolist() == [inf, inf]

    def test_bools_among_themselves_stay_bools(self):
        x = t.tensor([True, False])
        lower = x.clamp(min=t.tensor([True, True]))
        upper = x.clamp(max=t.tensor([False, False]))
        assert lower.dtype == upper.dtype == t.bool
        assert lower.tolist() == [True, True] and upper.tolist() == [False, False]
        assert x.clamp(min=t.tensor(1)).dtype == t.int64
        assert x.clamp(0, 1).dtype == t.int64
