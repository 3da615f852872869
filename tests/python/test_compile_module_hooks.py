"""Backward hooks of modules in compiled programs: calls, their order and gradients are a plain run's."""

import collections
import functools
import gc
import warnings

import pytest
from taeda._dynamo.utils import counters

import taeda
from taeda import nn

BACKENDS = ("eager", "aot_eager", "inductor")
Pair = collections.namedtuple("Pair", ("first", "second"))


class Log:
    """What hooks saw, in their order."""

    def __init__(self):
        self.seen = []

    def full(self, module, grad_input, grad_output):
        self.seen.append(("full", type(module).__name__, _sums(grad_input), _sums(grad_output)))

    def pre(self, module, grad_output):
        self.seen.append(("pre", type(module).__name__, _sums(grad_output)))


def _sums(grads):
    return [None if grad is None else round(grad.sum().item(), 3) for grad in grads]


def _doubled(module, grad_input, grad_output):
    return tuple(None if grad is None else grad * 2 for grad in grad_input)


def _tripled(module, grad_output):
    return tuple(grad * 3 for grad in grad_output)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, scale=None):
        return Pair(self.a(x), self.b(x).relu())


def _layers():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


# ---- models with hooks ----


def on_leaves(log):
    model = _layers()
    model[0].register_full_backward_hook(log.full)
    model[2].register_full_backward_hook(log.full)
    return model


def before_leaves(log):
    model = _layers()
    model[2].register_full_backward_pre_hook(log.pre)
    model[0].register_full_backward_pre_hook(_tripled)
    return model


def on_containers(log):
    model = nn.Sequential(_layers(), nn.Linear(2, 2))
    model[0].register_full_backward_hook(log.full)
    model[0].register_full_backward_hook(_doubled)
    model.register_full_backward_hook(log.full)
    model.register_full_backward_pre_hook(log.pre)
    return model


def gradients_replaced(log):
    model = nn.Sequential(_layers(), nn.Linear(2, 2))
    model[1].register_full_backward_hook(_doubled)
    model[0][0].register_full_backward_hook(log.full)
    return model


def several_results(log):
    model = Two()
    model.register_full_backward_hook(log.full)
    model.register_full_backward_pre_hook(log.pre)
    model.a.register_full_backward_hook(_doubled)
    return model


def one_layer_thrice(log):
    class Again(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(self.layer(x)) + self.layer(x).pow(2)

    model = Again()
    model.layer.register_full_backward_hook(log.full)
    return model


def partials(log):
    def note(where, module, grad_input, grad_output):
        where.append(len(where))

    model = _layers()
    model[2].register_full_backward_hook(functools.partial(note, log.seen))
    return model


def of_all_modules(log):
    model = _layers()
    model.handles = [
        nn.modules.module.register_module_full_backward_hook(log.full),
        nn.modules.module.register_module_full_backward_pre_hook(log.pre),
    ]
    return model


MODELS = (
    *(on_leaves, before_leaves, on_containers, gradients_replaced, several_results),
    *(one_layer_thrice, partials, of_all_modules),
)


def _trained(make, backend, has_input_grads):
    """What hooks saw, losses and gradients of three steps, one of another size."""
    taeda.compiler.reset()
    taeda.manual_seed(0)
    log, numbers = Log(), []
    model = make(log)

    def call(x):
        return model(x)

    run = call if backend is None else taeda.compile(call, backend=backend)
    for step in range(3):
        x = taeda.randn(5 if step < 2 else 6, 3, requires_grad=has_input_grads)
        result = run(x)
        parts = result if isinstance(result, tuple) else (result,)
        loss = sum((i + 1) * part.pow(2).sum() for i, part in enumerate(parts))
        loss.backward()
        numbers.append(loss.item())
        numbers += [p.grad.sum().item() for p in model.parameters()]
        numbers += [x.grad.sum().item()] if has_input_grads else []
    for handle in getattr(model, "handles", ()):
        handle.remove()
    return log.seen, pytest.approx(numbers, rel=1e-5, abs=1e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("has_input_grads", (False, True))
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_hooks_are_part_of_the_graph(make, backend, has_input_grads):
    with warnings.catch_warnings():
        # Of hooks where no input has a gradient.
        warnings.simplefilter("ignore", UserWarning)
        seen, numbers = _trained(make, None, has_input_grads)
        counters.clear()
        compiled_seen, compiled_numbers = _trained(make, backend, has_input_grads)
    assert len(seen) > 0 and compiled_seen == seen
    assert compiled_numbers.expected == numbers
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 2  # one for the size that changed


def _step(model, x):
    model(x).sum().backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_that_come_and_go_are_noticed(backend):
    model, log = _layers(), Log()
    compiled = taeda.compile(model, backend=backend)
    x = taeda.ones(2, 3, requires_grad=True)
    _step(compiled, x)
    handle = model[2].register_full_backward_hook(log.full)
    _step(compiled, x)
    assert len(log.seen) == 1
    handle.remove()
    _step(compiled, x)
    assert len(log.seen) == 1
    model[0].register_full_backward_pre_hook(log.pre)
    _step(compiled, x)
    assert [entry[0] for entry in log.seen] == ["full", "pre"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_of_a_call_are_those_that_were_there(backend):
    model, log = _layers(), Log()
    handle = model[2].register_full_backward_hook(log.full)
    compiled = taeda.compile(model, backend=backend)
    loss = compiled(taeda.ones(2, 3, requires_grad=True)).sum()
    handle.remove()
    loss.backward()
    assert len(log.seen) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_run_though_the_compiled_function_is_gone(backend):
    model, log = _layers(), Log()
    model[2].register_full_backward_hook(log.full)
    loss = taeda.compile(model, backend=backend)(taeda.ones(2, 3, requires_grad=True)).sum()
    taeda.compiler.reset()
    gc.collect()
    loss.backward()
    assert len(log.seen) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_calls_before_their_backwards(backend):
    found = []
    for run_backend in (None, backend):
        taeda.manual_seed(0)
        model, log = _layers(), Log()
        model.register_full_backward_hook(log.full)
        run = model if run_backend is None else taeda.compile(model, backend=run_backend)
        x = taeda.ones(2, 3, requires_grad=True)
        y = taeda.full((2, 3), 2.0, requires_grad=True)
        first, second = run(x).sum(), run(y).pow(2).sum()
        first.backward()
        second.backward()
        found.append(log.seen)
    assert len(found[0]) == 2 and found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_that_a_hook_keeps_stay(backend):
    found = []
    for run_backend in (None, backend):
        taeda.manual_seed(0)
        model, kept = _layers(), []
        for layer in model:
            layer.register_full_backward_hook(lambda module, gi, go, kept=kept: kept.append(go[0]))
        run = model if run_backend is None else taeda.compile(model, backend=run_backend)
        for _ in range(3):
            run(taeda.randn(2, 3, requires_grad=True)).exp().sum().backward()
        found.append([grad.abs().sum().item() for grad in kept])
    assert len(found[0]) == 9 and found[1] == pytest.approx(found[0], rel=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors_are_those_of_a_plain_run(backend):
    def fails(module, grad_input, grad_output):
        raise KeyError("of the hook")

    def gives_too_many(module, grad_input, grad_output):
        return grad_input * 2

    texts = []
    for hook in (fails, gives_too_many):
        for run_backend in (None, backend):
            model = _layers()
            model[2].register_full_backward_hook(hook)
            run = model if run_backend is None else taeda.compile(model, backend=run_backend)
            loss = run(taeda.ones(2, 3, requires_grad=True)).sum()
            with pytest.raises((KeyError, RuntimeError)) as error:
                loss.backward()
            texts.append((error.type, str(error.value)))
    assert texts[0] == texts[1] and texts[2] == texts[3] and texts[0] != texts[2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_break_inside_of_a_module_with_hooks(backend):
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            y = self.a(x)
            if y.sum().item() > -1e9:
                y = y + 1
            return self.b(y)

    found = []
    for run_backend in (None, backend):
        taeda.manual_seed(0)
        model, log = Reads(), Log()
        model.register_full_backward_hook(log.full)
        model.a.register_full_backward_hook(log.full)
        run = model if run_backend is None else taeda.compile(model, backend=run_backend)
        for _ in range(3):
            _step(run, taeda.ones(2, 3, requires_grad=True))
        found.append(log.seen)
    assert len(found[0]) == 6 and found[0] == found[1]
