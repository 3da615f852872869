"""Tests of what calls write: out= arguments, in-place methods, and in-place under autograd."""

import math

import pytest
from under_test import NAME, t


class TestOut:
    @pytest.mark.parametrize(
        "call",
        [
            lambda out: t.add(t.ones(2, 3), 1, out=out),
            lambda out: t.exp(t.ones(2, 3), out=out),
            lambda out: t.sum(t.ones(4, 2, 3), 0, out=out),
            lambda out: t.mm(t.ones(2, 4), t.ones(4, 3), out=out),
            lambda out: t.cat([t.ones(1, 3), t.zeros(1, 3)], out=out),
            lambda out: t.softmax(t.ones(2, 3), 1, out=out),
            lambda out: t.cumsum(t.ones(2, 3), 0, out=out),
            lambda out: t.where(t.ones(2, 3) > 0, t.ones(2, 3), t.zeros(2, 3), out=out),
            lambda out: t.gather(t.ones(2, 3), 0, t.zeros(2, 3, dtype=t.int64), out=out),
        ],
        ids=["add", "exp", "sum", "mm", "cat", "softmax", "cumsum", "where", "gather"],
    )
    def test_out_is_filled_and_returned(self, call):
        expected = call(t.empty(2, 3)).tolist()
        out = t.full((2, 3), -9.0)
        pointer = out.data_ptr()
        assert call(out) is out
        assert out.tolist() == expected and out.data_ptr() == pointer
        strided = t.full((3, 2), -9.0).t()
        assert call(strided) is strided and strided.stride() == (1, 2)
        assert strided.tolist() == expected
        window = t.full((4, 6), -9.0)
        call(window[1:3, ::2])
        assert window[1:3, ::2].tolist() == expected and window[0].tolist() == [-9.0] * 6

    def test_empty_out_is_resized(self):
        out = t.empty(0)
        t.add(t.ones(2, 3), 1, out=out)
        assert out.shape == (2, 3) and out.tolist() == [[2, 2, 2], [2, 2, 2]]

    def test_wrong_size_warns_and_resizes(self):
        out = t.ones(5)
        with pytest.warns(UserWarning, match="resized"):
            t.add(t.ones(2, 3), 1, out=out)
        assert out.shape == (2, 3)

    def test_result_is_cast_to_out(self):
        out = t.empty(2, dtype=t.float64)
        t.add(t.ones(2), 1, out=out)
        assert out.tolist() == [2, 2]
        out = t.empty(2, dtype=t.complex64)
        t.mul(t.ones(2), 3, out=out)
        assert out.tolist() == [3, 3]
        out = t.empty(2, dtype=t.float32)
        t.lt(t.ones(2), 3, out=out)
        assert out.tolist() == [1, 1]

    def test_out_may_be_an_input(self):
        x = t.tensor([1.0, 4.0])
        t.sqrt(x, out=x)
        t.add(x, x, out=x)
        assert x.tolist() == [2, 4]

    def test_several_results(self):
        values, indices = t.empty(0), t.empty(0, dtype=t.int64)
        result = t.sort(t.tensor([3.0, 1.0, 2.0]), out=(values, indices))
        assert result[0] is values and values.tolist() == [1, 2, 3]
        assert indices.tolist() == [1, 2, 0]
        assert result.values is values and result.indices is indices
        values, indices = t.empty(0), t.empty(0, dtype=t.int64)
        t.topk(t.tensor([3.0, 1.0, 2.0]), 2, out=(values, indices))
        assert values.tolist() == [3, 2] and indices.tolist() == [0, 2]


class TestInPlace:
    @pytest.mark.parametrize(
        "call, expected",
        [
            (lambda x: x.add_(1), [2, 5, 10]),
            (lambda x: x.add_(t.ones(3), alpha=2), [3, 6, 11]),
            (lambda x: x.sub_(1), [0, 3, 8]),
            (lambda x: x.mul_(2), [2, 8, 18]),
            (lambda x: x.div_(2), [0.5, 2, 4.5]),
            (lambda x: x.neg_(), [-1, -4, -9]),
            (lambda x: x.sqrt_(), [1, 2, 3]),
            (lambda x: x.pow_(2), [1, 16, 81]),
            (lambda x: x.clamp_(2, 5), [2, 4, 5]),
            (lambda x: x.lerp_(t.zeros(3), 0.5), [0.5, 2, 4.5]),
            (lambda x: x.addcmul_(t.ones(3), t.ones(3), value=3), [4, 7, 12]),
            (lambda x: x.zero_(), [0, 0, 0]),
            (lambda x: x.fill_(7), [7, 7, 7]),
            (lambda x: x.copy_(t.tensor([1, 2, 3])), [1, 2, 3]),
            (lambda x: x.masked_fill_(x > 3, 0), [1, 0, 0]),
            (lambda x: x.scatter_(0, t.tensor([2]), 5.0), [1, 4, 5]),
            (lambda x: x.scatter_add_(0, t.tensor([0, 0]), t.ones(2)), [3, 4, 9]),
            (lambda x: x.relu_(), [1, 4, 9]),
            (lambda x: x.cumsum_(0), [1, 5, 14]),
            (lambda x: x.remainder_(4), [1, 0, 1]),
            (lambda x: x.floor_divide_(2), [0, 2, 4]),
        ],
    )
    def test_returns_itself_and_keeps_its_memory(self, call, expected):
        x = t.tensor([1.0, 4.0, 9.0])
        pointer, version = x.data_ptr(), x._version
        assert call(x) is x
        assert x.tolist() == expected
        assert x.data_ptr() == pointer and x._version == version + 1

    def test_augmented_assignment_is_in_place(self):
        x = y = t.tensor([1.0, 2.0])
        x += 1
        x *= 2
        x -= 1
        x /= 2
        assert x is y and y.tolist() == [1.5, 2.5]
        n = m = t.tensor([7, 8])
        n //= 2
        n %= 3
        n &= 1
        n **= 2
        assert n is m and m.tolist() == [0, 1]

    def test_dtype_is_kept(self):
        x = t.ones(2, dtype=t.float32)
        x.add_(t.ones(2, dtype=t.float64))
        assert x.dtype == t.float32
        n = t.ones(2, dtype=t.int8)
        n.mul_(t.full((2,), 100, dtype=t.int64)).mul_(2)
        assert n.dtype == t.int8 and n.tolist() == [-56, -56]

    def test_other_broadcasts_into_self(self):
        x = t.zeros(2, 3)
        x.add_(t.tensor([1.0, 2.0, 3.0]))
        assert x.tolist() == [[1, 2, 3], [1, 2, 3]]

    def test_self_as_other(self):
        x = t.tensor([1.0, 2.0])
        x.mul_(x).add_(x)
        assert x.tolist() == [2, 8]

    def test_transposed_self(self):
        x = t.arange(6).reshape(2, 3)
        x.t().add_(t.tensor([10, 20]))
        assert x.tolist() == [[10, 11, 12], [23, 24, 25]]


class TestCopy:
    def test_of_a_number(self):
        x = t.zeros(2)
        assert x.copy_(2.5) is x and x.tolist() == [2.5, 2.5]
        assert x.copy_(other=t.ones(2)).tolist() == [1, 1]
        with pytest.raises(TypeError, match=r"argument 'other' \(position 1\) must be Tensor, not"):
            x.copy_(None)

    def test_of_an_element_in_another_layout(self):
        """Strides of sizes 1 count: the two are taken for parts of each other."""
        x = t.ones(1, 2)[:, :1]
        for write in (x.t().copy_, x.t().add_):
            with pytest.raises(RuntimeError, match="some elements of the input tensor"):
                write(x)
        y = t.ones(1, 2).diagonal()
        assert y.mul_(y.view(1)).tolist() == [1]


class TestRepeatedElements:
    def test_memory_is_checked_before_sizes(self):
        repeated = t.ones(1, 1).expand(3, 2)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            repeated.sub_(t.ones(2, 3))

    @pytest.mark.parametrize(
        "make, expected",
        [
            (lambda: t.ones(1).expand(2, 2), [[0, 0], [0, 0]]),
            (lambda: t.ones(2).expand(2, 2), [[0, 1], [0, 1]]),
            (lambda: t.ones(2, 1).expand(2, 2), [[1, 1], [0, 0]]),
            (lambda: t.ones(2, 2).expand(2, 2, 2), [[[1, 1], [0, 1]]] * 2),
        ],
    )
    def test_triu_writes_zeros_alone(self, make, expected):
        assert make().triu_().tolist() == expected


class TestUnderAutograd:
    def test_gradient_of_in_place_chain(self):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.mul_(3).add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [6, 6]

    def test_in_place_on_view_rewrites_the_base(self):
        x = t.ones(3, requires_grad=True)
        y = x * 2
        y[1:].mul_(5)
        (y * t.tensor([1.0, 10.0, 100.0])).sum().backward()
        assert x.grad.tolist() == [2, 100, 1000]

    def test_no_grad_allows_writing_leaves(self):
        x = t.ones(2, requires_grad=True)
        with t.no_grad():
            x.sub_(0.5)
        assert x.tolist() == [0.5, 0.5] and x.requires_grad and x.is_leaf

    def test_no_grad_as_decorator(self):
        @t.no_grad()
        def double(x):
            return x * 2

        assert not double(t.ones(2, requires_grad=True)).requires_grad
        assert t.is_grad_enabled()

    def test_gradients_accumulate(self):
        x = t.ones(2, requires_grad=True)
        for _ in range(3):
            (x * 2).sum().backward()
        assert x.grad.tolist() == [6, 6]
        (gradient,) = t.autograd.grad((x**2).sum(), x)
        assert gradient.tolist() == [2, 2] and x.grad.tolist() == [6, 6]

    def test_backward_with_a_given_gradient(self):
        x = t.ones(3, requires_grad=True)
        (x * 2).backward(t.tensor([1.0, 0.0, -1.0]))
        assert x.grad.tolist() == [2, 0, -2]


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch keeps the sizes without the memory")
def test_a_resize_without_memory_changes_nothing():
    x = t.arange(4.0)
    for size in (2**62, 2**55):
        with pytest.raises(RuntimeError, match=r"overflowed|can't allocate memory"):
            x.resize_(size)
        assert x.shape == (4,) and x.tolist() == [0, 1, 2, 3]


class TestNumbersBeyondNarrowFloats:
    """Assignment makes them infinite, or the largest where there is no infinity; fill_ refuses."""

    @pytest.mark.parametrize(
        "dtype, number, stored",
        [
            ("float16", -1e9, -math.inf),
            ("float16", 65519, 65504),
            ("bfloat16", 1e300, math.inf),
            ("float8_e5m2", 1e5, math.inf),
            ("float8_e4m3fn", 500, 448),
            ("float8_e4m3fn", -math.inf, -448),
        ],
    )
    def test_assignment(self, dtype, number, stored):
        dtype = getattr(t, dtype)
        for index in (0, slice(0, 1), t.tensor([0])):
            x = t.zeros(2, dtype=dtype)
            x[index] = number
            assert x.to(t.float32).tolist() == [stored, 0]
        assert t.scalar_tensor(number, dtype=dtype).to(t.float32).item() == stored
        with pytest.raises(RuntimeError, match="without overflow"):
            x.fill_(number * 2)

    def test_masked_assignment_to_halves(self):
        x = t.zeros(3, dtype=t.float16)
        x[t.tensor([True, False, True])] = -1e9
        assert x.tolist() == [-math.inf, 0, -math.inf]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64"])
    @pytest.mark.parametrize("count", [1, 33])
    def test_conversion_to_float8_e4m3fn_saturates(self, dtype, count):
        x = t.tensor([448, 464, 465, 500, 60000, -500] * count).to(getattr(t, dtype))
        y = x.to(t.float8_e4m3fn).to(t.float32).tolist()
        assert y == [448, 448, 448, 448, 448, -448] * count

    def test_float8_e4m3fn_from_a_list(self):
        x = t.tensor([500, 1e9, -math.inf, 447.0], dtype=t.float8_e4m3fn)
        assert x.to(t.float32).tolist() == [448, 448, -448, 448]
        nan = t.tensor([math.nan], dtype=t.float8_e4m3fn)
        assert nan.to(t.float32).isnan().item()
