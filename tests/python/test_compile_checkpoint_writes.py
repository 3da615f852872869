"""Checkpointed regions inside compiled programs that write to what they take.

Only the first pass of a region writes: the oracle is the same program without checkpoints.
"""

import importlib

import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
checkpoint = importlib.import_module(f"{NAME}.utils.checkpoint").checkpoint
aot_autograd = importlib.import_module(f"{NAME}._dynamo.backends.common").aot_autograd
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

OPTIONS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", "1")
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=OPTIONS)
def compiled(request):
    def compile_with(program, **options):
        return t.compile(program, backend=request.param, **OPTIONS[request.param], **options)

    return compile_with


def saving(function, *args):
    return checkpoint(function, *args, use_reentrant=False)


def plainly(function, *args):
    return function(*args)


class Stages(nn.Module):
    """Convolutions with BatchNorm and activations in place, as residual networks have them."""

    def __init__(self, call):
        super().__init__()
        self.call = call
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
            )
            for channels in (3, 4)
        )
        self.norm = nn.InstanceNorm2d(4, track_running_stats=True)

    def forward(self, x):
        for stage in self.stages:
            x = self.call(stage, x)
        return self.call(self.norm, x)


def trained(model, run, steps=3):
    """Losses of some steps, then gradients and buffers."""
    found = []
    for step in range(steps):
        x = t.sin(t.arange(2 * 3 * 5 * 5).reshape(2, 3, 5, 5) + float(step))
        loss = (run(x) ** 2).mean()
        loss.backward()
        found.append(loss.detach())
    return [*found, *(p.grad for p in model.parameters()), *model.buffers()]


def test_statistics_move_once_per_step(compiled):
    plain, model = Stages(plainly), Stages(saving)
    model.load_state_dict(plain.state_dict())
    wanted = trained(plain, plain)
    found = trained(model, compiled(model, fullgraph=True))
    for one, other in zip(found, wanted, strict=True):
        t.testing.assert_close(one, other)
    assert model.stages[0][1].num_batches_tracked == 3
    assert counters["stats"]["unique_graphs"] == 1


def gradients(program, run, x):
    """Results and gradients of two calls."""
    found = []
    for _ in range(2):
        leaf = x.clone().requires_grad_()
        result = run(leaf)
        result.backward(retain_graph=True)
        first = leaf.grad.clone()
        result.backward()  # computes again what the region wrote
        found += [result.detach(), first, leaf.grad]
    return found


def counting(call):
    calls = t.zeros(4)

    def program(x):
        def body(y):
            calls.add_(1)
            return (y * calls).sin().exp()

        return (call(body, x) * calls).sum()

    return program, calls


def writing_to_its_argument(call):
    seen = t.zeros(4)

    def program(x):
        h = x * 2
        result = call(lambda y: y.mul_(3).sin() * y, h)
        seen.copy_(h.detach()[0])
        return (result * h).sum()

    return program, seen


def writing_to_a_part(call):
    table = t.zeros(2, 4)

    def program(x):
        def body(y):
            table[0].add_(y.detach()[0])
            return (y * table[0]).sin()

        return call(body, x).sum() + table.sum()

    return program, table


def nested(call):
    inner, outer = t.ones(4), t.ones(4)

    def program(x):
        def first(y):
            inner.mul_(2)
            return (y * inner).sin()

        def second(y):
            outer.add_(1)
            return call(first, y * outer).exp() * outer

        return call(second, x).sum()

    return program, inner


@pytest.mark.parametrize(
    "make", [counting, writing_to_its_argument, writing_to_a_part, nested], ids=lambda f: f.__name__
)
def test_a_region_computed_again_writes_to_copies(compiled, make):
    x = t.arange(12.0).reshape(3, 4).cos()
    plain, wanted_state = make(plainly)
    program, state = make(saving)
    wanted = gradients(plain, plain, x)
    found = gradients(program, compiled(program, fullgraph=True), x)
    for one, other in zip([*found, state], [*wanted, wanted_state], strict=True):
        t.testing.assert_close(one, other)


def test_tensors_of_a_region_that_share_memory_it_writes_to(compiled):
    table = t.zeros(2, 4)
    first = table[0]

    def program(x):
        def body(y):
            table.add_(1)
            return (y * first).sin()

        return checkpoint(body, x, use_reentrant=False).sum()

    x = t.ones(3, 4, requires_grad=True)
    result = compiled(program)(x)
    assert is_same(result.detach(), t.ones(3, 4).sin().sum())
    assert any("share" in reason for reason in counters["graph_break"])


# ---- writes behind a region ----


def unread(x, shift):
    x = saving(lambda x: (shift.clone(), x.sin() * 2)[1], x)
    with t.no_grad():
        shift.add_(0.5)
    return x * shift.mean()


def read_again(x, shift):
    x = saving(lambda x: x.sin() * shift.mean(), x)
    with t.no_grad():
        shift.add_(0.5)
    return x * 2


def with_a_gradient_inside(x, shift):
    x = saving(lambda x: x.sin() * shift.mean(), x)
    with t.no_grad():
        shift.add_(0.5)
        z = x.detach().requires_grad_()
        with t.enable_grad():
            (g,) = t.autograd.grad(z.sin().sum(), z)
    return x * g


def in_another_region(x, shift):
    def outer(x):
        scale = x.exp()
        return saving(lambda y: (y * scale).sin() * shift.mean(), x * 2).tanh()

    x = saving(outer, x)
    with t.no_grad():
        shift.add_(0.5)
    return x * 2


@pytest.mark.parametrize(
    "program",
    [unread, read_again, with_a_gradient_inside, in_another_region],
    ids=lambda f: f.__name__,
)
def test_a_region_reads_what_is_around_it_anew(compiled, program):
    outcomes = []
    for run in (program, compiled(program)):
        x = t.arange(12.0).reshape(3, 4).cos().requires_grad_()
        result = run(x, t.ones(4))
        result.sum().backward()
        outcomes.append((result.detach(), x.grad))
    t.testing.assert_close(outcomes[1], outcomes[0])


@pytest.mark.parametrize("has_autocast", [False, True])
def test_an_overwritten_argument_is_an_error_of_backward(compiled, has_autocast):
    def program(x, shift):
        product = x @ x.t()
        y = saving(lambda x, shift: x.sin() * shift.mean(), product, shift)
        with t.no_grad(), t.autocast("cpu", dtype=t.bfloat16, enabled=has_autocast):
            rounded = x @ x.t()
            shift.add_(0.5)
            t._dynamo.graph_break()
        return y, product, rounded

    for run in (program, compiled(program)):
        x = t.arange(12.0).reshape(3, 4).cos().requires_grad_()
        y, product, rounded = run(x, t.ones(4))
        assert (product.dtype, product.requires_grad) == (t.float32, True)
        assert rounded.dtype == (t.bfloat16 if has_autocast else t.float32)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_region_in_another_holds_nothing_of_it():
    kept = []

    def compile_forward(graph, inputs):
        kept.append([node.name for node in graph.graph.output_node().args[0]])
        return graph.forward

    def program(x):
        def outer(x):
            scale = x.exp()
            return saving(lambda y: (y * scale).sin(), x * 2).tanh()

        return saving(outer, x)

    backend = aot_autograd(fw_compiler=compile_forward, bw_compiler=lambda graph, _: graph.forward)
    x = t.ones(3, requires_grad=True)
    t.compile(program, backend=backend)(x).sum().backward()
    assert kept == [["tanh", "primals_1"]]
