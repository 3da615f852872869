"""taeda.compile in training: losses and parameters of eager runs, and how often is compiled."""

import copy
import gc
import importlib
import os
import subprocess
import sys
import threading

import compile_models
import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
func = importlib.import_module(f"{NAME}.func")
optim = importlib.import_module(f"{NAME}.optim")
checkpoint = importlib.import_module(f"{NAME}.utils.checkpoint").checkpoint
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

OPTIONS = {"eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=OPTIONS)
def compiled(request):
    """Compiles with one of the backends."""

    def compile_with(program, **options):
        return t.compile(program, backend=request.param, **OPTIONS[request.param], **options)

    return compile_with


class Net(nn.Module):
    def __init__(self, dropout=0.0, is_checkpointed=False):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 16)
        self.c = nn.Linear(16, 4)
        self.norm = nn.LayerNorm(16)
        self.dropout = nn.Dropout(dropout)
        self.is_checkpointed = is_checkpointed

    def forward(self, x):
        h = F.gelu(self.a(x))
        if self.is_checkpointed:
            h = h + checkpoint(self.b, self.norm(h), use_reentrant=False)
        else:
            h = h + self.b(self.norm(h))
        return self.c(self.dropout(h))


def batches(sizes):
    """Inputs and targets, the same for the same sizes."""
    generator = t.Generator()
    generator.manual_seed(0)
    for size in sizes:
        x = t.randn(size, 8, generator=generator)
        yield x, t.randint(0, 4, (size,), generator=generator)


def train(model, forward, sizes=(8,) * 4, *, amp=False, scaled=False, accumulate=1, clip=None,
          scheduled=False, make=optim.AdamW, compile_step=None):  # fmt: skip
    """Losses of a training, in the way of a user's script."""
    t.manual_seed(1)
    optimizer = make(model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1, 0.5) if scheduled else None
    scaler = t.amp.GradScaler("cpu", enabled=scaled)
    step = compile_step(optimizer.step) if compile_step else lambda: scaler.step(optimizer)
    losses = []
    for number, (x, y) in enumerate(batches(sizes), start=1):
        with t.autocast("cpu", dtype=t.bfloat16, enabled=amp):
            loss = F.cross_entropy(forward(x), y)
        scaler.scale(loss / accumulate).backward()
        losses.append(loss.item())
        if number % accumulate:
            continue
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        step()
        scaler.update()
        if scheduler:
            scheduler.step()
        optimizer.zero_grad()
    return losses


def assert_trains_alike(compiled, net=None, **options):
    """Trains a model eagerly and a copy compiled; gives the number of graphs."""
    t.manual_seed(0)
    plain = Net(**(net or {}))
    other = copy.deepcopy(plain)
    expected = train(plain, plain, **options)
    if step := options.pop("step", None):
        options["compile_step"] = step
    got = train(other, compiled(other), **options)
    assert got == pytest.approx(expected, rel=1e-4, abs=1e-5)
    for p, q in zip(plain.parameters(), other.parameters()):
        t.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)
    assert not counters["graph_break"], dict(counters["graph_break"])
    return counters["stats"]["unique_graphs"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"amp": True},
        {"scaled": True},
        {"accumulate": 2},
        {"clip": 0.5},
        {"scheduled": True},
        {"net": {"is_checkpointed": True}},
        {"net": {"dropout": 0.5}},
        {"amp": True, "scaled": True, "accumulate": 2, "clip": 1.0, "scheduled": True},
    ],
    ids=lambda options: "+".join(options) or "plain",
)
def test_losses_are_those_of_eager_runs(compiled, options):
    assert assert_trains_alike(compiled, **options) == 1


def test_a_compiled_function_inside_of_checkpoint(compiled):
    """Recomputation stops inside of the compiled function once it has what it needs."""

    def body(x):
        y = x.sin()
        return (y * y.cos()).exp()

    x, z = (t.randn(4, 8, requires_grad=True) for _ in range(2))
    z.data.copy_(x)
    function = compiled(body)
    for _ in range(2):
        checkpoint(function, x, use_reentrant=False).sum().backward()
        body(z).sum().backward()
        t.testing.assert_close(x.grad, z.grad)


def test_sizes_of_batches_compile_twice(compiled):
    assert assert_trains_alike(compiled, sizes=(8, 5, 7, 3, 9, 8, 2, 6, 11)) == 2


def test_a_whole_step_is_compiled(compiled):
    def made():
        t.manual_seed(0)
        model = Net()
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    plain, other = made(), compiled(made())
    for x, y in batches((8,) * 4):
        t.testing.assert_close(other(x, y), plain(x, y), rtol=1e-4, atol=1e-5)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 20)

    def forward(self, token, cache):
        h = self.embed(token)
        q, k, v = self.qkv(h).chunk(3, -1)
        if cache is not None:
            k, v = t.cat([cache[0], k], 1), t.cat([cache[1], v], 1)
        mixed = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
        return self.out(h + mixed)[:, -1].argmax(-1, keepdim=True), (k, v)


def test_a_growing_cache_compiles_three_graphs(compiled):
    """One without a cache, one for its first length, one for all lengths."""
    t.manual_seed(0)
    model = Decoder().eval()

    def decoded(step):
        token, cache, out = t.tensor([[1]]), None, []
        with t.no_grad():
            for _ in range(20):
                token, cache = step(token, cache)
                out.append(token.item())
        return out

    assert decoded(compiled(model)) == decoded(model)
    assert counters["stats"]["unique_graphs"] <= 3, dict(counters["recompile"])


@pytest.mark.parametrize("sizes", [(5, 6, 7, 8, 9), (1, 4, 3, 12, 7)])
def test_lengths_of_sequences(compiled, sizes):
    t.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 1)
    fast = compiled(model)
    for size in sizes:
        x = t.randn(2, size, 16)
        t.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] <= 2 + (1 in sizes)


def test_sizes_of_images_and_running_statistics(compiled):
    t.manual_seed(0)
    plain = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)
    )  # fmt: skip
    other = copy.deepcopy(plain)
    fast = compiled(other)
    for batch, size in ((2, 8), (3, 9), (4, 12), (5, 10)):
        x = t.randn(batch, 3, size, size)
        a, b = plain(x), fast(x)
        t.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        a.sum().backward()
        b.sum().backward()
    t.testing.assert_close(plain[1].running_mean, other[1].running_mean)
    t.testing.assert_close(plain[0].weight.grad, other[0].weight.grad, rtol=1e-3, atol=1e-4)
    assert counters["stats"]["unique_graphs"] <= 2


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.LSTM(4, 8, 2, batch_first=True), (2, 5, 4)),
        (lambda: nn.GRU(4, 8, batch_first=True, bidirectional=True), (2, 5, 4)),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 5, 4)),
        (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), (2, 4)),
        (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)).eval(), (2, 4)),
    ],
    ids=["lstm", "gru", "transformer", "weight_norm", "spectral_norm"],
)
def test_layers_and_their_gradients(compiled, make, shape):
    t.manual_seed(0)
    plain = make()
    other = copy.deepcopy(plain)
    fast = compiled(other)
    x = t.randn(shape)
    first = lambda out: out[0] if isinstance(out, tuple) else out
    a, b = first(plain(x)), first(fast(x))
    t.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    a.square().sum().backward()
    b.square().sum().backward()
    for p, q in zip(plain.parameters(), other.parameters()):
        t.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)


def test_hooks_of_modules(compiled):
    model, seen = Net(), []
    model.a.register_forward_hook(lambda module, args, out: out * 2)
    model.b.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    model.b.register_full_backward_hook(lambda module, down, up: seen.append(up[0].shape))
    x = t.randn(2, 8)
    fast = compiled(model)
    t.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    fast(x).sum().backward()
    assert seen == [(2, 16)]


def test_hooks_of_parameters(compiled):
    model, seen = Net(), []
    model.a.weight.register_hook(lambda grad: seen.append("grad"))
    model.a.weight.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    compiled(model)(t.randn(2, 8)).sum().backward()
    assert seen == ["grad", "accumulated"]


def test_frozen_parameters(compiled):
    model = Net()
    fast = compiled(model)
    model.a.requires_grad_(False)
    fast(t.randn(2, 8)).sum().backward()
    assert model.a.weight.grad is None and model.b.weight.grad is not None
    model.a.requires_grad_(True)
    fast(t.randn(2, 8)).sum().backward()
    assert model.a.weight.grad is not None


def test_replaced_parameters_and_modules(compiled):
    model = Net()
    fast = compiled(model)
    x = t.randn(2, 8)
    fast(x)
    model.a = nn.Linear(8, 16)
    t.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    model.b.weight = nn.Parameter(t.zeros(16, 16))
    t.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    model.load_state_dict(Net().state_dict())
    t.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)


def test_state_that_forward_writes(compiled):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", t.zeros(()))
            self.calls = 0

        def forward(self, x):
            self.seen += 1
            self.calls += 1
            return x * self.seen + self.calls

    plain, other = Counting(), Counting()
    fast = compiled(other)
    for _ in range(6):
        assert t.equal(plain(t.ones(2)), fast(t.ones(2)))
    assert plain.calls == other.calls and t.equal(plain.seen, other.seen)
    assert counters["stats"]["unique_graphs"] <= 4, dict(counters["recompile"])


def test_gradients_of_gradients():
    """Of the eager backend: graphs with their own gradients have no second ones, in PyTorch too."""
    x = t.randn(3, requires_grad=True)
    fast = t.compile(lambda v: (v**3).sum(), backend="eager")
    (first,) = t.autograd.grad(fast(x), x, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), x)
    t.testing.assert_close(second, 6 * x)


def test_gradients_per_sample(compiled):
    model = Net()
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(p, x, y):
        return F.cross_entropy(func.functional_call(model, p, (x[None],)), y[None])

    per_sample = func.vmap(func.grad(loss), (None, 0, 0))
    x, y = next(batches((3,)))
    expected, got = per_sample(params, x, y), compiled(per_sample)(params, x, y)
    for name in expected:
        t.testing.assert_close(got[name], expected[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("values", [(0.1, 0.2, 0.3, 0.05, 0.7), (3, 4, 5, 6, 9)], ids=str)
def test_numbers_that_change(compiled, values):
    def scaled(x, by):
        return x - by * x * 2

    fast = compiled(scaled)
    x = t.randn(4)
    for value in values:
        t.testing.assert_close(fast(x, value), scaled(x, value))
    assert counters["stats"]["unique_graphs"] <= 2, dict(counters["recompile"])


def test_threads_train_one_compiled_model(compiled):
    model = Net()
    fast = compiled(model)
    x = t.randn(2, 8)
    expected = model(x).detach()
    found = [None] * 4

    def work(i):
        found[i] = all(t.allclose(fast(x), expected, atol=1e-5) for _ in range(20))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found)


def test_models_that_are_dropped_are_freed(compiled):
    weak = importlib.import_module("weakref")
    model = Net()
    fast = compiled(model)
    fast(t.randn(2, 8)).sum().backward()
    seen = weak.ref(model.a.weight)
    del model, fast
    gc.collect()
    assert seen() is None


def test_calls_leave_nothing_behind(compiled):
    fast = compiled(lambda x: (x + 1).relu())
    x = t.randn(10)
    for _ in range(100):
        fast(x)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        fast(x)
    gc.collect()
    assert len(gc.get_objects()) - before < 50


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_models(first):
    options = {"options": {"native": "never"}}
    found = {n: compile_models.run((n, "inductor", options))[1] for n in range(first, first + 20)}
    assert {n: text for n, text in found.items() if text} == {}


def test_python_memory_is_asked_for_under_the_lock():
    """Python's checked allocator stops a program that calls it without the lock."""
    command = [sys.executable, compile_models.__file__, "--show", "5000"]
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "None", done.stdout[-2000:]


@pytest.mark.full
@pytest.mark.parametrize("native", ["never", "wait"])
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_more_random_models(first, native):
    options = {"options": {"native": native}}
    found = {n: compile_models.run((n, "inductor", options))[1] for n in range(first, first + 20)}
    assert {n: text for n, text in found.items() if text} == {}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_hooks_of_parameters_run_in_the_order_of_eager(backend):
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = (nn.Linear(3, 3) for _ in range(3))
            self.cell, self.scale = nn.RNNCell(3, 3), nn.Parameter(t.ones(3))

        def forward(self, x):
            x = self.second(self.first(x).tanh()).relu() * self.scale
            return self.last(self.first(self.cell(x)))

    t.manual_seed(0)
    model, log = Shared(), []
    for name, parameter in model.named_parameters():
        parameter.register_hook(lambda grad, name=name: log.append(("tensor", name)))
        parameter.register_post_accumulate_grad_hook(
            lambda parameter, name=name: log.append(("accumulated", name))
        )

    def run(function):
        log.clear()
        function(t.ones(2, 3)).sum().backward()
        return list(log)

    expected = run(model)
    assert len(expected) == 2 * len(list(model.parameters()))
    assert run(t.compile(model, backend=backend)) == expected


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_one_graph_goes_backward_for_several_losses(backend):
    def program(x, w):
        y = (x @ w).relu()
        return y, y * 2, y.sum()

    def run(function, rows):
        w, x = t.ones(3, 2).requires_grad_(), t.arange(rows * 3.0).view(rows, 3).requires_grad_()
        y, z, total = function(x, w)
        (y.sum() * z.sum()).backward(retain_graph=True)
        total.backward(retain_graph=True)
        z.square().sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            total.backward()
        return x.grad, w.grad

    compiled = t.compile(program, backend=backend)
    for rows in (2, 3, 5):
        assert is_same(run(compiled, rows), run(program, rows))


class Joined(t.autograd.Function):
    @staticmethod
    def forward(ctx, first, second, lengths):
        ctx.save_for_backward(lengths)
        return t.cat([first, second])

    @staticmethod
    def backward(ctx, grad):
        (lengths,) = ctx.saved_tensors
        return *grad.split(lengths.tolist()), None


def test_gradients_whose_sizes_only_data_tells(compiled):
    def program(x, lengths, others):
        first, second = x.split(lengths.tolist())
        return Joined.apply(first, second, others)

    weights = t.arange(9.0)
    x = t.randn(9, requires_grad=True)
    with t._dynamo.config.patch(capture_scalar_outputs=True):
        call = compiled(program, fullgraph=True)
        for lengths in ([3, 6], [4, 5], [8, 1]):
            x.grad = None
            lengths = t.tensor(lengths)
            (call(x, lengths, lengths) * weights).sum().backward()
            assert is_same(x.grad, weights)
        with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[2\]"):
            call(x, t.tensor([3, 6]), t.tensor([2, 7])).sum().backward()


def test_a_gradient_that_a_tensor_does_not_take(compiled):
    def program(x, grad):
        told.append("before")
        y = x * 2
        try:
            x.grad = grad
        except RuntimeError as error:
            return y, str(error)
        told.append("behind")
        return y, None

    call = compiled(program)
    for grad in (t.ones(5), t.ones(3, dtype=t.float64), t.ones(3), None, t.ones(3)):
        found = []
        for run in (call, program):
            told, x = [], t.ones(3, requires_grad=True)
            y, error = run(x, x if grad is None else grad)
            found.append((error, told, None if x.grad is None else x.grad.tolist()))
            assert y.requires_grad
        assert found[0] == found[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_a_detached_tensor_comes_from_gets_no_zeros(backend):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    @t.compiler.disable
    def twice(x, scale):
        return Twice.apply(x * scale)

    def program(x, scale):
        return x + twice(x, scale).detach()

    x, scale = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
    t.compile(program, backend=backend)(x, scale).sum().backward()
    assert t.equal(x.grad, t.ones(3))
    # An optimizer with weight decay moves what has a gradient of zeros.
    assert scale.grad is None


def again(function):
    """A Function that computes its results once more for its gradients."""

    class Again(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            with t.no_grad():
                return function(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with t.enable_grad():
                x = x.detach().requires_grad_()
                y = function(x)
            return t.autograd.grad(y, x, grad)[0]

    return Again.apply


def in_both(forward, backward):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return backward(ctx.saved_tensors[0], grad)

    return Both.apply


def sine(x):
    return checkpoint(lambda v: v.sin() * 2, x, use_reentrant=False)


def cosine(x, grad):
    return checkpoint(lambda v, g: v.cos() * 2 * g, x, grad, use_reentrant=False)


def branch(x, grad):
    return t.cond(x.sum() > 0, lambda g: g * x, lambda g: g.sin(), (grad,))


BOTH = in_both(sine, cosine)
FUNCTIONS = {
    "checkpoints": BOTH,
    "branches": in_both(lambda x: branch(x, x * 2), branch),
    "a branch of a checkpoint": in_both(
        lambda x: t.cond(x.sum() > 0, sine, lambda v: v * 3, (x,)), cosine
    ),
    "computed again": again(lambda x: sine(x) * x),
    "others inside": in_both(lambda x: BOTH(x) * 2, cosine),
}


@pytest.mark.parametrize("is_inside", [False, True], ids=["alone", "in a checkpoint"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_autograd_that_take_functions(compiled, name, is_inside):
    def program(x):
        if not is_inside:
            return FUNCTIONS[name](x * 2)
        return checkpoint(lambda v: FUNCTIONS[name](v * 2).cos(), x, use_reentrant=False)

    run = compiled(program, fullgraph=True)
    for scale in (1.0, -1.0, 0.5):
        results = []
        for function in (program, run):
            x = (t.arange(1.0, 5.0) * scale).requires_grad_()
            y = function(x)
            (y * t.arange(4.0)).sum().backward()
            results.append((y.detach(), x.grad))
        assert is_same(*results, True)
    assert not counters["fallback"]
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_averages_over_all_batches_compile_once(backend, dtype):
    plain = nn.BatchNorm1d(3, momentum=None, dtype=getattr(t, dtype))
    model = copy.deepcopy(plain)
    compiled = t.compile(model, backend=backend, fullgraph=True, **OPTIONS[backend])
    for i in range(10):
        x = t.arange(12, dtype=getattr(t, dtype)).reshape(4, 3).sin() * (i + 1)
        x.requires_grad_()
        assert t.allclose(compiled(x), plain(x), atol=1e-5)
        (expected,) = t.autograd.grad((plain(x) ** 3).sum(), x)
        assert t.allclose(t.autograd.grad((compiled(x) ** 3).sum(), x)[0], expected, atol=1e-4)
    for name, value in plain.named_buffers():
        assert t.allclose(model.get_buffer(name), value), name
    assert counters["stats"]["unique_graphs"] == 1 and model.num_batches_tracked == 20


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("hard", [False, True])
def test_a_temperature_that_falls_compiles_twice(backend, hard):
    def program(logits, tau):
        return F.gumbel_softmax(logits, tau=tau, hard=hard)

    compiled = t.compile(program, backend=backend, fullgraph=True, **OPTIONS[backend])
    weight = t.arange(12.0).reshape(3, 4)
    for i in range(6):
        made = []
        for run in (program, compiled):
            t.manual_seed(i)
            logits = t.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
            made.append(run(logits, 0.9**i * 1.5))
            made.append(t.autograd.grad((made[-1] * weight).sum(), logits)[0])
        assert t.allclose(made[0], made[2], atol=1e-6)
        assert t.allclose(made[1], made[3], atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 2
