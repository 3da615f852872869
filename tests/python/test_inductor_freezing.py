"""What parameters and buffers alone tell is computed once, and again when one of them is written."""

import threading
import time

import pytest
from taeda._inductor import compile, config
from taeda._inductor.compile_fx import compile_fx
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F


@pytest.fixture(autouse=True)
def frozen():
    with config.patch(freezing=True, native="never"):
        yield


def unit_rows(x, w):
    return F.relu(x @ (w / (w * w).sum(0).sqrt()))


def captured(f, inputs, tracing_mode="symbolic"):
    with t.no_grad():
        return compile(make_fx(f, tracing_mode=tracing_mode, pre_dispatch=True)(*inputs), inputs)


def seconds(plan):
    return sum(step["seconds"] for step in plan["steps"])


X, W = t.randn(5, 4), t.nn.Parameter(t.randn(4, 6))


def test_frozen_values_are_computed_once():
    compiled = captured(unit_rows, [X, W])
    with t.no_grad():
        assert t.equal(compiled(X, W), unit_rows(X, W))
        compiled.time()
        longer = t.randn(9, 4)
        assert t.equal(compiled(longer, W), unit_rows(longer, W))
        once, rest = compiled.report()
        assert (once["kernels"], rest["called"]) == (1, ["mm"])
        assert seconds(once) == 0 and seconds(rest) > 0


def test_kernels_of_frozen_values_become_native():
    with config.patch(native="background"):
        compiled = captured(unit_rows, [X, W])
    with t.no_grad():
        compiled(X, W)
    end = time.monotonic() + 60
    while any(plan["native"] < plan["kernels"] for plan in compiled.report()):
        assert time.monotonic() < end
        time.sleep(0.05)


WRITES = {
    "in place": lambda w: w.mul_(2).add_(1),
    "through a view": lambda w: w[1].fill_(3),
    "other memory": lambda w: setattr(w, "data", t.ones_like(w)),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_noticed(name):
    w = t.nn.Parameter(t.randn(4, 6))
    compiled = captured(unit_rows, [X, w])
    assert len(compiled.report()) == 2
    with t.no_grad():
        before = compiled(X, w)
        WRITES[name](w)
        after = compiled(X, w)
    assert t.equal(after, unit_rows(X, w)) and not t.equal(after, before)


def test_another_tensor_is_noticed():
    compiled = captured(unit_rows, [X, W])
    for _ in range(3):
        w = t.nn.Parameter(t.randn(4, 6))
        with t.no_grad():
            assert t.equal(compiled(X, w), unit_rows(X, w))


def test_tensors_without_versions_are_computed_each_time():
    compiled = captured(unit_rows, [X, W])
    with t.inference_mode():
        w = t.randn(4, 6)
        assert t.equal(compiled(X, w), unit_rows(X, w))
        w.mul_(3).add_(2)
        assert t.equal(compiled(X, w), unit_rows(X, w))


def test_attributes_are_frozen():
    layer = t.nn.Linear(4, 3)

    def f(x):
        return x @ (layer.weight * 2).t() + layer.bias

    compiled = captured(f, [X], "real")
    with t.no_grad():
        assert t.equal(compiled(X), f(X))
        layer.weight.add_(1)
        assert t.equal(compiled(X), f(X))


@pytest.mark.parametrize("look", [lambda w: w, lambda w: w.t(), lambda w: w[1:, 0]])
def test_results_may_be_written_to(look):
    def f(x, w):
        double = w * 2
        return x @ double, look(double), look(w.exp())

    compiled = captured(f, [X, W])
    with t.no_grad():
        for _ in range(3):
            got = compiled(X, W)
            assert all(t.equal(a, b) for a, b in zip(got, f(X, W), strict=True))
            for result in got:
                result.zero_()


def test_random_numbers_are_drawn_in_each_run():
    def f(x, w):
        return x @ F.dropout(w, 0.5)

    compiled = captured(f, [X, W])
    with t.no_grad():
        for seed in (1, 2):
            t.manual_seed(seed)
            want = f(X, W)
            t.manual_seed(seed)
            assert t.equal(compiled(X, W), want)


def test_threads_share_what_is_kept():
    compiled = captured(unit_rows, [X, W])
    wrong = []

    def run():
        with t.no_grad():
            for _ in range(20):
                x = t.randn(7, 4)
                if not t.equal(compiled(x, W), unit_rows(x, W)):
                    wrong.append(x)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_programs_with_gradients_are_not_frozen():
    w = W.detach().clone().requires_grad_()
    graph = make_fx(unit_rows, tracing_mode="symbolic", pre_dispatch=True)(X, w)
    compiled = compile(graph, [X, w])
    (got,) = t.autograd.grad(compiled(X, w).sum(), w)
    (want,) = t.autograd.grad(unit_rows(X, w).sum(), w)
    assert t.equal(got, want)


# ---- norms behind convolutions ----


class Block(t.nn.Module):
    def __init__(self, bias, affine):
        super().__init__()
        self.convolution = t.nn.Conv2d(3, 5, 3, padding=1, bias=bias)
        self.norm = t.nn.BatchNorm2d(5, affine=affine)
        t.nn.init.uniform_(self.norm.running_mean)
        t.nn.init.uniform_(self.norm.running_var, 0.5, 2)

    def forward(self, x):
        y = self.norm(self.convolution(x))
        return F.relu(y + x[:, :1])


IMAGES = t.randn(2, 3, 8, 8)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_a_norm_is_part_of_its_convolution(bias, affine):
    model = Block(bias, affine).eval()
    plans = []

    def backend(gm, example_inputs):
        plans.append(compile_fx(gm, example_inputs))
        return plans[0]

    compiled = t.compile(model, backend=backend)
    with t.no_grad():
        for _ in range(2):
            assert t.allclose(compiled(IMAGES), model(IMAGES), atol=1e-5)
        once, rest = plans[0].report()
        assert rest["called"] == ["convolution"] and rest["kernels"] == 1
        assert "sqrt" not in plans[0].text().split("call convolution")[1]
        model.norm.running_var.mul_(4)
        model.convolution.weight.neg_()
        assert t.allclose(compiled(IMAGES), model(IMAGES), atol=1e-5)
    assert len(plans) == 1


def test_a_result_that_something_else_reads_stays():
    model = Block(True, True).eval()

    def f(x):
        y = model.convolution(x)
        return model.norm(y), y

    compiled = captured(f, [IMAGES], "real")
    with t.no_grad():
        for a, b in zip(compiled(IMAGES), f(IMAGES), strict=True):
            assert t.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("change", ["training", "written", "half"])
def test_other_norms_stay(change):
    model = Block(True, True).eval()
    if change == "half":
        model.to(t.bfloat16)
    model.norm.train(change == "training")

    def f(x):
        y = model.convolution(x.to(model.convolution.weight.dtype))
        if change == "written":
            y.mul_(2)
        state = model.norm.running_mean.clone(), model.norm.running_var.clone()
        return F.batch_norm(
            y, *state, model.norm.weight, model.norm.bias, training=model.norm.training
        )

    with config.patch(layout_optimization=False):
        compiled = captured(f, [IMAGES], "real")
    with t.no_grad():
        assert t.equal(compiled(IMAGES), f(IMAGES))


@pytest.mark.parametrize("written", ["input", "filters", "bias"])
def test_a_convolution_is_not_called_again_on_other_operands(written):
    def f(x, filters, bias, mean, variance):
        x, filters, bias = x.clone(), filters.clone(), bias.clone()
        y = F.conv2d(x, filters, bias)
        {"input": x, "filters": filters, "bias": bias}[written].relu_().mul_(3)
        return F.batch_norm(y, mean, variance), x + 1, filters + 1, bias + 1

    inputs = [IMAGES, t.randn(5, 3, 1, 1), t.randn(5), t.randn(5), t.rand(5) + 0.5]
    compiled = captured(f, inputs, "real")
    with t.no_grad():
        for got, want in zip(compiled(*inputs), f(*inputs), strict=True):
            assert t.allclose(got, want, atol=1e-5)


def test_a_norm_behind_a_convolution_without_a_batch():
    def f(x, filters, mean, variance):
        return F.batch_norm(F.conv2d(x, filters), mean, variance)

    inputs = [t.randn(3, 5, 8), t.randn(5, 3, 1, 1), t.randn(5), t.rand(5) + 0.5]
    compiled = captured(f, inputs, "real")
    with t.no_grad():
        assert t.allclose(compiled(*inputs), f(*inputs), atol=1e-5)


def test_patterns_that_round_differently_can_be_left_out():
    model = Block(True, True).eval()
    with config.patch(pattern_matcher=False, layout_optimization=False):
        compiled = captured(model.forward, [IMAGES], "real")
    with t.no_grad():
        assert t.equal(compiled(IMAGES), model(IMAGES))


# ---- layouts ----


def make_layers():
    layers = [t.nn.Conv2d(3, 8, 3, padding=1), t.nn.ReLU(), t.nn.Conv2d(8, 6, 1), t.nn.Tanh()]
    return t.nn.Sequential(*layers, t.nn.MaxPool2d(2), t.nn.Conv2d(6, 4, 3, groups=2))


def test_values_between_convolutions_have_channels_innermost():
    model = make_layers()
    compiled = captured(model.forward, [IMAGES], "real")
    with t.no_grad():
        got, want = compiled(IMAGES), model(IMAGES)
        assert t.allclose(got, want, atol=1e-5) and got.stride() == want.stride()
    calls = compiled.text().split("call convolution")
    assert len(calls) == 4
    assert "8*i_row + i_column]" in calls[1] and "i1_6 < 6 vector\n" in calls[2]
    with config.patch(layout_optimization=False):
        as_traced = captured(model.forward, [IMAGES], "real").text().split("call convolution")
    assert "8*i_row + i_column]" not in as_traced[1]


@pytest.mark.parametrize(
    "look",
    [
        lambda y: y.view(2, -1) * 2,
        lambda y: y.transpose(1, 2)[0].exp(),
        lambda y: y,
        lambda y: y[:, 1:3].contiguous().view(-1),
        lambda y: (y.sum((0, 2, 3)), y[..., 0], y + 1),
    ],
)
def test_strides_that_others_see_stay(look):
    model = make_layers()

    def f(x):
        return look(model(x))

    compiled = captured(f, [IMAGES], "real")
    with t.no_grad():
        got, want = compiled(IMAGES), f(IMAGES)
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for a, b in zip(got, want, strict=True):
        assert t.allclose(a, b, atol=1e-5) and a.stride() == b.stride()


# ---- packed weights ----
def layer(x, w, b):
    return F.gelu(F.linear(x, w, b))


@pytest.fixture
def own_products():
    """Skips where a library computes the products, which packs for itself."""
    x, w = t.randn(20, 1100), t.randn(1100, 700)
    compiled = captured(lambda x, w: F.gelu(x @ w), [x, w])
    compiled(x, w)
    if compiled.report()[-1]["steps"][0]["finished_by_library"]:
        pytest.skip("oneDNN computes these products")


def packed(compiled):
    return [step["packed_bytes"] for step in compiled.report()[-1]["steps"]]


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.bfloat16])
@pytest.mark.usefixtures("own_products")
def test_weights_are_packed_once(dtype):
    w = t.nn.Parameter((t.randn(700, 1100) / 30).to(dtype))
    b = t.nn.Parameter(t.randn(700).to(dtype))
    compiled = captured(layer, [t.randn(20, 1100).to(dtype), w, b])
    item = 8 if dtype == t.float64 else 4
    with t.no_grad():
        for rows in (2, 5):
            x = t.randn(rows, 1100).to(dtype)
            assert t.equal(compiled(x, w, b), layer(x, w, b))
        assert packed(compiled) == [0]  # few rows read the weight as it lies
        for rows in (20, 9, 70, 300):
            x = t.randn(rows, 1100).to(dtype)
            assert t.equal(compiled(x, w, b), layer(x, w, b))
            assert 0 <= packed(compiled)[0] - 700 * 1100 * item < 64 * 1100 * item


@pytest.mark.usefixtures("own_products")
@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_a_packed_weight_is_noticed(name):
    w, x = t.nn.Parameter(t.randn(90, 80)), t.randn(100, 90)
    compiled = captured(lambda x, w: x @ w, [x, w])
    with t.no_grad():
        before = compiled(x, w)
        assert packed(compiled)[0] > 0
        WRITES[name](w)
        after = compiled(x, w)
        assert t.equal(after, x @ w) and not t.equal(after, before)
        other = t.nn.Parameter(t.randn(90, 80))
        assert t.equal(compiled(x, other), x @ other)
        with t.inference_mode():
            other = t.randn(90, 80)
            for _ in range(2):
                assert t.equal(compiled(x, other), x @ other)
                other.add_(1)


def test_weights_that_are_not_frozen_are_not_packed():
    x, w = t.randn(100, 90), t.randn(90, 80)
    compiled = captured(lambda x, w: x @ w, [x, w])
    assert t.equal(compiled(x, w), x @ w) and packed(compiled) == [0]


def test_threads_share_packed_weights():
    w = t.nn.Parameter(t.randn(120, 90))
    compiled = captured(lambda x, w: F.relu(x @ w), [t.randn(64, 120), w])
    inputs = [t.randn(rows, 120) for rows in range(60, 90)]
    with t.no_grad():
        want = [F.relu(x @ w) for x in inputs]
    got = [None] * len(inputs)

    def work(first):
        with t.no_grad():
            for i in range(first, len(inputs), 3):
                got[i] = compiled(inputs[i], w)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(t.equal(a, b) for a, b in zip(want, got, strict=True))
