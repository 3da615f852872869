"""Hooks that a compiled program registers or finds: gradients and writes of a plain run."""

import functools
import importlib

import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters

BACKENDS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}
both = pytest.mark.parametrize("backend", BACKENDS)


def compiled_by(backend, function, **options):
    counters.clear()
    return t.compile(function, backend=backend, **BACKENDS[backend], **options)


def hooked_with_values(x, w):
    y = x * w
    scale = y.detach().mean()
    y.register_hook(lambda grad: grad * scale)
    return (y * 2).sum()


def hooked_plainly(x, w):
    y = x * w
    y.register_hook(lambda grad: grad * 3)
    return (y * y).sum()


def hooked_for_nothing(x, w):
    y = x * w
    y.register_hook(lambda grad: None)
    return y.sum()


def hooked_twice(x, w):
    y = (x * w).relu()
    factors = [2.0, 0.5]
    for factor in factors:
        y.register_hook(functools.partial(lambda grad, by: grad * by + 1, by=factor))
    return (y * w).sum()


def hooked_for_a_while(x, w):
    y = x * w
    scale = y.detach().mean()
    hooks = [y.register_hook(lambda grad: grad * 3), y.register_hook(lambda grad: grad * scale)]
    hooks += [w.register_hook(lambda grad: grad * 5), y.register_hook(lambda grad: grad + 1)]
    for hook in hooks[:3]:
        hook.remove()
    hooks[0].remove()
    return (y * y).sum()


@both
@pytest.mark.parametrize(
    "program",
    [hooked_with_values, hooked_plainly, hooked_for_nothing, hooked_twice, hooked_for_a_while],
    ids=lambda program: program.__name__,
)
def test_hooks_of_results(program, backend):
    def gradients(function):
        x, w = t.arange(3.0), t.tensor([1.0, -2.0, 3.0], requires_grad=True)
        loss = function(x, w)
        loss.backward()
        return loss.detach(), w.grad

    expected = gradients(program)
    compiled = compiled_by(backend, program, fullgraph=True)
    for _ in range(2):
        assert is_same(gradients(compiled), expected, is_rounded=True)


def hooked_to_append(y, seen):
    y.register_hook(lambda grad: grad * 3)
    y.register_hook(seen["list"].append)


def hooked_to_count(y, seen):
    y.register_hook(lambda grad: seen["list"].append(1))
    y.register_hook(lambda grad: grad * 3)


def hooked_to_keep(y, seen):
    class Keeper:
        def keep(self, grad):
            self.grad = grad

    seen["keeper"] = keeper = Keeper()
    y.register_hook(lambda grad: grad * 3)
    y.register_hook(keeper.keep)


@both
@pytest.mark.parametrize("hook", [hooked_to_append, hooked_to_count, hooked_to_keep])
def test_hooks_write_to_objects_of_the_program_in_the_backward(hook, backend):
    def program(x):
        seen = {"list": []}
        y = x * 2
        hook(y, seen)
        return (y * y).sum(), seen

    def looks(function):
        x = t.ones(2, requires_grad=True)
        loss, seen = function(x)
        before = list(seen["list"]), hasattr(seen.get("keeper"), "grad")
        loss.backward()
        return before, seen["list"], getattr(seen.get("keeper"), "grad", None), x.grad

    assert is_same(looks(compiled_by(backend, program)), looks(program))


@both
def test_hooks_of_the_programs_tensors(backend):
    def program(w):
        handle = w.register_hook(lambda grad: grad * 10)
        return (w * 2).sum(), handle

    compiled = compiled_by(backend, program, fullgraph=True)
    w = t.ones(2, requires_grad=True)
    loss, handle = compiled(w)
    loss.backward()
    assert is_same(w.grad, t.full((2,), 20.0))
    handle.remove()
    w.grad = None
    (w * 2).sum().backward()
    assert is_same(w.grad, t.full((2,), 2.0))


class Tenfold:
    def __call__(self, grad):
        return grad * 10

    def method(self, grad):
        return grad + 10

    def after(self, leaf):
        leaf.grad.mul_(10)


def added(grad, *, number):
    return grad + number


tenfold = Tenfold()
partial = functools.partial(added, number=3)


@both
@pytest.mark.parametrize("kind", ["object", "method", "partial"])
def test_hooks_that_are_objects_of_the_program(kind, backend):
    def program(w):
        hook = {"object": tenfold, "method": tenfold.method, "partial": partial}[kind]
        w.register_hook(hook)
        return (w * 2).sum()

    def gradient(function):
        w = t.ones(2, requires_grad=True)
        function(w).backward()
        return w.grad

    assert is_same(gradient(compiled_by(backend, program, fullgraph=True)), gradient(program))


def plainly(leaf):
    leaf.grad.mul_(5)


@both
@pytest.mark.parametrize("hook", [plainly, tenfold.after])
def test_hooks_behind_gradients_of_leaves(hook, backend):
    def program(w):
        handle = w.register_post_accumulate_grad_hook(hook)
        return (w * 2).sum(), handle

    def gradients(function):
        w = t.ones(2, requires_grad=True)
        loss, handle = function(w)
        loss.backward(retain_graph=True)
        handle.remove()
        first = w.grad.clone()
        loss.backward()
        return first, w.grad

    assert is_same(gradients(compiled_by(backend, program, fullgraph=True)), gradients(program))


def test_a_hook_without_a_gradient_is_an_error():
    def program(x):
        y = x * 2
        try:
            y.register_hook(lambda grad: grad)
        except RuntimeError as error:
            return y, str(error)

    compiled = compiled_by("eager", program)
    assert is_same(compiled(t.ones(2)), program(t.ones(2)))


@both
@pytest.mark.parametrize("requires_grad", [True, False])
def test_backward_hooks_of_modules(backend, requires_grad):
    def make():
        t.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).requires_grad_(
            requires_grad
        )
        log = []
        model[0].register_full_backward_hook(
            lambda m, gi, go: log.append(("full", go[0].sum().item()))
        )
        model[2].register_full_backward_pre_hook(lambda m, go: log.append(("pre", go[0].shape)))
        return model, log

    def steps(model, called):
        x = t.ones(4, 2, requires_grad=True)
        for _ in range(2):
            called(x).sum().backward()
        return x.grad, [p.grad for p in model.parameters()]

    plain, expected_log = make()
    expected = steps(plain, plain)
    model, log = make()
    assert is_same(steps(model, compiled_by(backend, model)), expected, is_rounded=True)
    assert [name for name, _ in log] == [name for name, _ in expected_log]
