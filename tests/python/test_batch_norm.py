"""nn.functional.batch_norm against the formula and the values of PyTorch."""

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F
from taeda.func import functionalize

X = t.tensor([[[1.0, 2.0], [3.0, -1.0]], [[4.0, 0.0], [2.0, 2.0]], [[0.5, 1.5], [1.0, 0.0]]])


def test_training_uses_the_batch_and_moves_the_statistics():
    mean, var = t.zeros(2), t.ones(2)
    y = F.batch_norm(X, mean, var, training=True, momentum=0.5)
    flat = y.transpose(0, 1).reshape(2, -1)
    assert t.allclose(flat.mean(1), t.zeros(2), atol=1e-6)
    assert t.allclose(flat.var(1, correction=0), t.ones(2), atol=1e-4)
    # The values of torch.nn.functional.batch_norm.
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)
    assert t.allclose(var, t.tensor([1.5, 1.5833333]), atol=1e-6)


def test_evaluation_uses_the_running_statistics():
    mean, var = t.tensor([1.0, 0.5]), t.tensor([4.0, 0.25])
    weight, bias = t.tensor([2.0, 1.0]), t.tensor([0.0, 3.0])
    y = F.batch_norm(X, mean, var, weight, bias, eps=0.0)
    assert y[0].tolist() == [[0, 1], [8, 0]]
    assert mean.tolist() == [1, 0.5]


@pytest.mark.parametrize("shape", [(1, 3, 5, 4), (4, 3, 7, 7), (5, 3)])
def test_gradients_of_each_channel_take_its_own_mean(shape):
    shift = t.tensor([0.0, 10.0, -20.0], dtype=t.float64).view(1, 3, *[1] * (len(shape) - 2))
    x = (t.randn(*shape, dtype=t.float64) + shift).requires_grad_()
    weight = t.tensor([2.0, 0.5, -1.0], dtype=t.float64, requires_grad=True)

    def f(x, weight):
        return F.batch_norm(x, None, None, weight, training=True).sin()

    assert t.autograd.gradcheck(f, (x, weight))


def test_ranges_of_channels_give_the_bits_of_the_whole():
    x, grad = t.randn(4, 96, 23, 23), t.randn(4, 96, 23, 23)
    results, before = [], t.get_num_threads()
    for threads in (1, 2):
        t.set_num_threads(threads)
        leaf = x.clone().requires_grad_()
        y = F.batch_norm(leaf, None, None, training=True)
        results.append((y.detach(), t.autograd.grad(y, leaf, grad)[0]))
    t.set_num_threads(before)
    one = x[:, 40:41].clone().requires_grad_()
    y = F.batch_norm(one, None, None, training=True)
    alone = (y.detach(), t.autograd.grad(y, one, grad[:, 40:41])[0])
    for first, second, part in zip(*results, alone, strict=True):
        assert t.equal(first, second)
        assert t.equal(first[:, 40:41], part)


def test_gradients_pass_through_the_statistics():
    x = X.double().requires_grad_()
    weight = t.tensor([2.0, 0.5], dtype=t.float64, requires_grad=True)

    def f(x, weight):
        return F.batch_norm(x, None, None, weight, training=True).sin()

    assert t.autograd.gradcheck(f, (x, weight))


def test_half_precision_keeps_its_type():
    y = F.batch_norm(X.half(), t.zeros(2), t.ones(2), training=True)
    assert y.dtype == t.float16
    assert t.allclose(y.float(), F.batch_norm(X, None, None, training=True), atol=2e-3)


def test_errors():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        F.batch_norm(t.ones(1, 2), None, None, training=True)
    with pytest.raises(RuntimeError, match="running_mean must be defined in evaluation mode"):
        F.batch_norm(X, None, None)
    with pytest.raises(ValueError, match="at least 2D input"):
        F.batch_norm(t.ones(3), t.zeros(1), t.ones(1))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 0, 4), (1, 3, 2)])
def test_few_values(shape):
    result = t.nn.functional.batch_norm(t.ones(shape), None, None, training=True)
    assert result.shape == shape and not result.any()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 4, 5)])
def test_values_and_gradients_are_those_of_pytorch(torch, shape, training):
    x = t.randn(shape, dtype=t.float64)
    found = []
    for m in (t, torch):
        a = m.tensor(x.tolist(), dtype=m.float64, requires_grad=True)
        weight, bias, mean, var = (
            m.linspace(low, low + 1, 3, dtype=m.float64) for low in (-1.0, 2.0, 0.5, 1.5)
        )
        weight.requires_grad_()
        bias.requires_grad_()
        y = m.nn.functional.batch_norm(a, mean, var, weight, bias, training, 0.2, 1e-3)
        (y * y * a.detach()).sum().backward()
        found.append([v.tolist() for v in (y, a.grad, weight.grad, bias.grad, mean, var)])
    for got, want in zip(*found):
        t.testing.assert_close(t.tensor(got), t.tensor(want))


@pytest.mark.parametrize("training", [False, True])
def test_second_derivatives(training):
    x = X.double().requires_grad_()
    weight = t.tensor([2.0, 0.5], dtype=t.float64, requires_grad=True)
    mean, var = t.tensor([1.0, 0.5]).double(), t.tensor([4.0, 0.25]).double()

    def f(x, weight):
        return F.batch_norm(x, mean.clone(), var.clone(), weight, None, training)

    assert t.autograd.gradgradcheck(f, (x, weight))


def test_channels_may_lie_innermost():
    x = t.randn(2, 3, 4, 5)
    last = x.to(memory_format=t.channels_last)
    y = F.batch_norm(last, None, None, training=True)
    assert y.is_contiguous(memory_format=t.channels_last)
    t.testing.assert_close(y, F.batch_norm(x, None, None, training=True), check_stride=False)


def test_many_values_with_a_large_mean_keep_their_variance():
    x = t.randn(64, 2, 50) + 1000
    y = F.batch_norm(x, None, None, training=True)
    assert t.allclose(y.var((0, 2), correction=0), t.ones(2), atol=1e-3)


def test_each_example_of_a_batch():
    x = t.randn(3, 5, 2, 4)
    f = lambda v: F.batch_norm(v, None, None, training=True)
    t.testing.assert_close(t.func.vmap(f)(x), t.stack([f(v) for v in x]))


def test_functionalization_sees_the_statistics_move():
    def f(x, mean, var):
        return F.batch_norm(x, mean, var, training=True)

    graph = make_fx(functionalize(f))(X, t.zeros(2), t.ones(2))
    mean, var = t.zeros(2), t.ones(2)
    graph(X, mean, var)
    assert mean.any()


@pytest.mark.parametrize(
    "name, given",
    [("running_mean", (3, 2, 2, 2)), ("running_var", (2, 3, 2, 2)), ("weight", (2, 2, 3, 2))],
)
def test_sizes_of_numbers_by_channel(name, given):
    mean, var, weight, bias = map(t.ones, given)
    with pytest.raises(RuntimeError, match=f"{name} should contain 2 elements not 3"):
        F.batch_norm(X, mean, var, weight, bias)


def test_the_statistics_of_the_call():
    out, mean, rstd = t.native_batch_norm(X, None, None, None, None, True, 0.1, 0.0)
    t.testing.assert_close(mean, X.mean((0, 2)))
    t.testing.assert_close(rstd, X.var((0, 2), correction=0).rsqrt())
    assert t.native_batch_norm(X, None, None, mean, rstd, False, 0.1, 0.0)[1].shape == (0,)


@pytest.mark.parametrize(("eps", "training"), [(0.0, True), (-1.0, True), (-1.0, False)])
def test_eps_that_would_divide_by_zero(eps, training):
    with pytest.raises(ValueError, match="batch_norm eps must be"):
        F.batch_norm(t.ones(2, 3), t.zeros(3), t.ones(3), training=training, eps=eps)


# ---- running statistics ----
def test_writing_the_statistics_counts_no_version():
    mean, var = t.zeros(2), t.ones(2)
    F.batch_norm(X, mean, var, training=True)
    assert (mean._version, var._version) == (0, 0) and mean.any()


def test_statistics_made_in_inference_mode():
    with t.inference_mode():
        mean, var = t.zeros(2), t.ones(2)
    F.batch_norm(X, mean, var, training=True, momentum=0.5)
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "nested"])
def test_statistics_move_inside_transforms(transform):
    mean, var = t.zeros(2), t.ones(2)

    def f(x):
        return (F.batch_norm(x, mean, var, training=True, momentum=0.5) * X.sin()).sum()

    if transform == "vjp":
        result = t.func.vjp(f, X)[1](t.tensor(1.0))[0]
    elif transform == "jvp":
        result = t.func.jvp(f, (X,), (X,))[1]
    elif transform == "nested":
        result = t.func.grad(lambda x: t.func.grad(f)(x).sin().sum())(X)
    else:
        result = t.func.grad(f)(X)
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)
    assert t.allclose(var, t.tensor([1.5, 1.5833333]), atol=1e-6)
    assert result.isfinite().all()


def test_statistics_that_a_transform_takes():
    def f(x, mean, var):
        y = F.batch_norm(x, mean, var, training=True, momentum=0.5)
        return (y * X.sin()).sum(), (mean, var)

    mean, var = t.zeros(2), t.ones(2)
    _, (new_mean, _) = t.func.grad(f, has_aux=True)(X, mean, var)
    assert t.allclose(new_mean, t.tensor([0.75, 0.5833333]), atol=1e-6)


def test_vmap_cannot_write_statistics_from_outside():
    mean, var = t.zeros(2), t.ones(2)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input"):
        t.func.vmap(lambda x: F.batch_norm(x, mean, var, training=True))(t.rand(4, 3, 2))
    assert not mean.any()


# ---- dtypes ----
@pytest.mark.parametrize(
    "x,parameter,statistic,message",
    [
        (t.float32, t.float32, t.float64, "expected scalar type Float but found Double"),
        (t.float32, t.float64, t.float32, "expect parameter to have scalar type of Float"),
        (t.float64, t.float32, t.float32, "all inputs must share same datatype"),
        (t.bfloat16, t.bfloat16, t.float32, "expected scalar type BFloat16 but found Float"),
        (t.bfloat16, t.float32, t.bfloat16, "expect parameter to have scalar type of Float"),
    ],
)
def test_dtypes_that_do_not_mix(x, parameter, statistic, message):
    def call():
        weight = t.ones(2, dtype=parameter)
        mean, var = t.zeros(2, dtype=statistic), t.ones(2, dtype=statistic)
        return F.batch_norm(X.to(x), mean, var, weight, training=True)

    with pytest.raises(RuntimeError, match=message):
        call()
    x = statistic = parameter
    assert call().dtype == parameter


def test_half_inputs_with_float_parameters():
    y = F.batch_norm(X.bfloat16(), t.zeros(2), t.ones(2), t.ones(2), t.zeros(2), training=True)
    assert y.dtype == t.bfloat16


# ---- statistics under other transforms, and what is refused ----
def test_vmap_over_the_weight_alone_moves_the_statistics():
    mean, var = t.zeros(2), t.ones(2)
    weights = t.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    result = t.func.vmap(lambda w: F.batch_norm(X, mean, var, w, w, training=True, momentum=0.5))(
        weights
    )
    expected = [F.batch_norm(X, None, None, w, w, training=True) for w in weights]
    assert t.allclose(result, t.stack(expected), atol=1e-6)
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)
    assert t.allclose(var, t.tensor([1.5, 1.5833333]), atol=1e-6)


def test_vmap_of_grad_with_statistics_of_each_example():
    x, means, variances = t.rand(4, 3, 2), t.zeros(4, 2), t.ones(4, 2)

    def f(x, mean, var):
        return (F.batch_norm(x, mean, var, training=True, momentum=0.5) * x).sum()

    got = t.func.vmap(t.func.grad(f))(x, means, variances)
    for i in range(4):
        mean, var = t.zeros(2), t.ones(2)
        assert t.allclose(got[i], t.func.grad(f)(x[i], mean, var), atol=1e-5)
        assert t.allclose(means[i], mean, atol=1e-6) and t.allclose(variances[i], var, atol=1e-6)


def test_functionalized_gradient_moves_the_statistics():
    mean, var = t.zeros(2), t.ones(2)

    def f(x, mean, var):
        return (F.batch_norm(x, mean, var, training=True, momentum=0.5) * X.sin()).sum()

    functionalize(t.func.grad(f))(X, mean, var)
    assert t.allclose(mean, t.tensor([0.75, 0.5833333]), atol=1e-6)
    assert t.allclose(var, t.tensor([1.5, 1.5833333]), atol=1e-6)


def test_statistics_have_no_gradient():
    mean, var = t.zeros(2, requires_grad=True), t.ones(2)
    for training in (False, True):
        with pytest.raises(RuntimeError, match="respect to argument 'running_mean'"):
            F.batch_norm(X, mean, var, training=training)
    with t.no_grad():
        F.batch_norm(X, mean, var)


def test_one_statistic_alone():
    with pytest.raises(ValueError, match="must either both be None or neither be None"):
        F.batch_norm(X, t.zeros(2), None, training=True)
