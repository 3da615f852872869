"""Values and gradients at infinities, NaN and numbers so small that their squares vanish."""

import math
import platform

import pytest
from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda

F = taeda.nn.functional
INF, NAN = math.inf, math.nan


def slopes(function, values):
    x = taeda.tensor(values, dtype=taeda.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("length", [4, 40])
def test_hypot_of_infinity_is_infinite(length):
    a = taeda.tensor([INF, NAN, -INF, NAN]).repeat(length // 4)
    b = taeda.tensor([NAN, -INF, 1.0, 2.0]).repeat(length // 4)
    assert taeda.hypot(a, b).tolist()[:3] == [INF] * 3 and math.isnan(taeda.hypot(a, b)[3])


def test_gradients_of_tiny_and_huge_numbers():
    assert slopes(taeda.sinc, [1e-200, 0.0]) == [0, 0]
    assert slopes(taeda.special.log_ndtr, [1e10]) == [0]
    assert slopes(taeda.digamma, [INF]) == [0]


def test_erfcx_of_negative_numbers_grows_without_bound():
    assert taeda.special.erfcx(taeda.tensor([-1e30, -30.0])).tolist() == [INF, INF]


@pytest.mark.parametrize("function", [F.elu, F.celu, F.selu, F.hardswish])
def test_gradient_at_nan_is_nan(function):
    assert all(map(math.isnan, slopes(function, [NAN] * 5)))


@pytest.mark.parametrize("function", [F.hardtanh, F.relu6, F.hardshrink, F.softshrink])
def test_gradient_at_nan_is_none_of_a_flat_part(function):
    assert slopes(function, [NAN] * 5) == [0] * 5


def test_permutations_that_a_dtype_cannot_hold_are_refused():
    assert taeda.randperm(2049, dtype=taeda.float16).unique().numel() == 2049
    with pytest.raises(RuntimeError, match="n cannot be greater than 2049 for Half type"):
        taeda.randperm(2050, dtype=taeda.float16)


@pytest.mark.parametrize(
    ("dtype", "low", "high", "first"),
    [
        (taeda.float32, 0, 2**31, 382722848),
        (taeda.float16, 0, 10000, 3260),
        (taeda.float16, -10000, 10000, 9264),
        (taeda.bfloat16, 0, 300, 148),
    ],
)
def test_integers_beyond_a_dtype_are_those_of_pytorch(dtype, low, high, first):
    generator = taeda.Generator(engine="mt19937").manual_seed(0)
    with pytest.warns(UserWarning, match="to - 1 is out of bounds"):
        drawn = taeda.empty(3, dtype=dtype).random_(low, high, generator=generator)
    assert drawn[0] == first


def test_bernoulli_is_contiguous():
    assert taeda.bernoulli(taeda.full((3, 4), 0.5).t()).stride() == (3, 1)


@pytest.mark.parametrize("kind", [taeda.nn.LazyBatchNorm1d, taeda.nn.LazyInstanceNorm1d])
@pytest.mark.parametrize("affine", [False, True])
def test_lazy_norms_are_converted_before_their_first_call(kind, affine):
    norm = kind(affine=affine, track_running_stats=True).double()
    x = taeda.rand(4, 5, 6, dtype=taeda.float64)
    assert norm(x).dtype == norm.running_mean.dtype == taeda.float64
    assert norm.running_mean.shape == (5,) and "running_mean" in norm.state_dict()


@pytest.mark.parametrize("kind", [taeda.optim.Adam, taeda.optim.AdamW, taeda.optim.RMSprop])
def test_a_parameter_given_twice_steps_twice(kind):
    values = []
    for times in (1, 2):
        param = taeda.nn.Parameter(taeda.ones(2))
        if times == 2:
            with pytest.warns(UserWarning, match="duplicate parameters"):
                optimizer = kind([param, param], lr=1e-3)
        else:
            optimizer = kind([param], lr=1e-3)
        param.grad = taeda.ones(2)
        for _ in range(2 // times):
            optimizer.step()
        values.append(param.detach())
    assert taeda.equal(*values)
    assert optimizer.state_dict()["param_groups"][0]["params"] == [1, 1]


# What a number beyond an integer type becomes on x86, and those of the others.
WHOLES = {
    taeda.int8: (8, 32),
    taeda.uint8: (8, 32),
    taeda.int16: (16, 32),
    taeda.uint16: (16, 32),
    taeda.int32: (32, 32),
    taeda.uint32: (32, 64),
    taeda.int64: (64, 64),
}


def whole(value, dtype):
    bits, by = WHOLES[dtype]
    fits = math.isfinite(value) and -(2 ** (by - 1)) <= math.trunc(value) < 2 ** (by - 1)
    kept = (math.trunc(value) if fits else -(2 ** (by - 1))) % 2**bits
    is_negative = dtype.is_signed and kept >= 2 ** (bits - 1)
    return kept - 2**bits if is_negative else kept


@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86")
@pytest.mark.parametrize("dtype", [taeda.float32, taeda.float64, taeda.bfloat16, taeda.complex64])
def test_integers_of_numbers_beyond_them(dtype):
    values = [1e10, 3e9, 2.0**31, 2.0**63, 1e20, INF, NAN, 300.0, 2.0**32 + 4096, 40000.0, 1.9]
    x = taeda.tensor([*values, *(-v for v in values)] * 3, dtype=dtype)

    def integers(x):
        return [(x * 1).to(integer) for integer in WHOLES]

    plain = integers(x)
    numbers = x.real if x.is_complex() else x
    for found in plain:
        assert found.tolist() == [whole(v, found.dtype) for v in numbers.tolist()]
    for native in ("never", "wait"):
        made = compile(make_fx(integers)(x), [x], native=native)(x)
        assert all(map(taeda.equal, plain, made))
