"""Backwards of compiled functions: again, of parts, after writes, with hooks of every kind."""

import pytest
from taeda.utils.checkpoint import checkpoint
from watched_programs import BACKENDS, check, errors, leaf, line, look, looks

import taeda as t
from taeda import nn

PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


# ---- backward more than once ----


@program
def a_second_backward(run):
    x, seen = leaf(3), []
    out = run(lambda x: x.exp() * x)(x).sum()
    out.backward(retain_graph=True)
    out.backward()
    with errors(seen, 8):
        out.backward()
    return [*seen, look(x.grad)]


@program
def results_one_after_the_other(run):
    x, seen = leaf(3), []

    def f(x):
        h = x.exp()
        return h * 2, h * x

    a, b = run(f)(x)
    a.sum().backward(retain_graph=True)
    first = x.grad.clone()
    b.sum().backward()
    with errors(seen, 8):
        a.sum().backward()
    return [*seen, *looks(first, x.grad)]


# ---- gradients that are absent, zero or laid out otherwise ----


@program
def what_has_no_gradient(run):
    x, y = leaf(3), leaf(3)

    def f(x, y, n):
        return x * n, x.argmax(), (y * 2).detach()

    a, b, c = run(f)(x, y, t.tensor(3))
    grads = t.autograd.grad(a.sum(), [x, y], allow_unused=True)
    return [*looks(a, b, c), *looks(*grads)]


@program
def an_unused_input_is_an_error(run):
    x, y, seen = leaf(3), leaf(3), []
    out = run(lambda x, y: x * 2)(x, y)
    with errors(seen, 10):
        t.autograd.grad(out.sum(), [x, y])
    return seen


@program
def missing_gradients_are_zeros(run):
    x, y = leaf(3), leaf(3)

    def f(x, y):
        return x * 2, y * 3

    a, b = run(f)(x, y)
    grads = t.autograd.grad(a.sum(), [x, y], allow_unused=True, materialize_grads=True)
    b.sum().backward()
    return looks(*grads, y.grad)


@program
def a_loss_that_some_inputs_do_not_reach(run):
    x, y, z = leaf(3), leaf(3), leaf(3)

    def f(x, y, z):
        h = x.exp()
        return h * y, h.sin(), z * 2

    results = run(f)(x, y, z)
    seen = []
    for chosen in ([0], [1], [2], [0, 2], [1, 2]):
        loss = sum(results[i].sum() for i in chosen)
        seen += t.autograd.grad(loss, [x, y, z], retain_graph=True, allow_unused=True)
    results[1].sum().backward()
    return looks(*seen, x.grad, y.grad, z.grad)


@program
def a_loss_beside_an_infinite_gradient(run):
    x = t.tensor([0.0, 1.0, 4.0], requires_grad=True)
    w = leaf(3)

    def f(x, w):
        h = x * w
        return h.sqrt(), h * 3, t.stack([h.rsqrt(), h * x])[1] + x

    results = run(f)(x, w)
    seen = []
    for chosen in ([1], [2], [1, 2]):
        loss = sum(results[i].sum() for i in chosen)
        seen += t.autograd.grad(loss, [x, w], retain_graph=True)
    return looks(*seen)


@program
def a_loss_whose_gradient_is_expanded(run):
    x = line(2, 16).t().requires_grad_()

    def f(x):
        h = x.sum(0, keepdim=True)
        return h.square(), h.max(1)[0], x.sum()[None] + 1, x.mean()

    results, seen = run(f)(x), []
    for i in range(4):
        seen += t.autograd.grad(results[i].sum(), x, retain_graph=True)
    return [g.tolist() for g in seen]


@program
def an_input_of_a_loss_and_of_none(run):
    x, y = leaf(4), leaf(4)

    def f(x, y):
        both = t.stack([x.sin(), y.sin()])
        return both.exp().sum(0), x.view(2, 2), y * 0

    a, b, c = run(f)(x, y)
    seen = t.autograd.grad(b.sum(), [x, y], retain_graph=True, allow_unused=True)
    seen += t.autograd.grad(c.sum(), [x, y], retain_graph=True, allow_unused=True)
    return looks(*seen, *t.autograd.grad(a.sum(), [x, y]))


@program
def a_gradient_of_another_layout(run):
    x = leaf(3, 4)
    out = run(lambda x: x.exp())(x)
    out.backward(line(4, 3).t())
    return looks(x.grad)


@program
def accumulated_gradients(run):
    x = leaf(3)
    f = run(lambda x: (x * x).sum())
    for _ in range(3):
        f(x).backward()
    return looks(x.grad)


# ---- writes between forward and backward ----


@program
def a_saved_input_is_written(run):
    x, y, seen = leaf(3), line(3), []
    out = run(lambda x, y: x * y)(x, y)
    y.add_(1)
    with errors(seen, 12):
        out.sum().backward()
    return seen


@program
def a_saved_result_is_written(run):
    x, seen = leaf(3), []
    out = run(lambda x: x.softmax(0))(x)
    out.mul_(2)
    with errors(seen, 12):
        out.sum().backward()
    return seen


@program
def a_parameter_is_written(run):
    w, x, seen = leaf(3), leaf(3), []
    out = run(lambda w, x: w * x)(w, x)
    with t.no_grad():
        w.add_(1)
    with errors(seen, 12):
        out.sum().backward()
    return seen


@program
def a_write_of_the_program_counts(run):
    x, y = line(3), leaf(3)
    before = x._version

    def f(x, y):
        x.add_(1)
        return x * y

    out = run(f)(x, y)
    out.sum().backward()
    return [*looks(x, out, y.grad), x._version > before]


@program
def writes_without_recording(run):
    w = leaf(3)

    def f(w):
        loss = (w * 2).sum()
        with t.no_grad():
            w.sub_(0.1)
        return loss

    run(f)(w).backward()
    return looks(w, w.grad)


# ---- hooks ----


@program
def hooks_of_saved_tensors(run):
    x = leaf(3)
    f = run(lambda x: x.exp() * x)
    with t.autograd.graph.saved_tensors_hooks(lambda s: s + 0, lambda s: s * 1):
        out = f(x)
    out.sum().backward()
    return looks(out, x.grad)


@program
def saved_tensors_elsewhere(run):
    x, w = leaf(2, 3), leaf(3, 3)
    f = run(lambda x, w: (x @ w).tanh())
    with t.autograd.graph.save_on_cpu():
        out = f(x, w)
    out.sum().backward()
    return looks(out, x.grad, w.grad)


@program
def a_hook_that_fails(run):
    x, seen = leaf(3), []
    f = run(lambda x: x.exp())

    def fail(_):
        raise RuntimeError("cannot be unpacked")

    with t.autograd.graph.saved_tensors_hooks(lambda s: s, fail):
        out = f(x)
    with errors(seen):
        out.sum().backward()
    return seen


@program
def hooks_of_an_input(run):
    x, seen = leaf(3), []
    handle = x.register_hook(lambda g: seen.append(look(g)) or g * 2)
    f = run(lambda x: x.exp())
    f(x).sum().backward()
    handle.remove()
    f(x).sum().backward()
    return [seen, look(x.grad)]


@program
def hooks_of_a_result(run):
    x, seen = leaf(3), []
    out = run(lambda x: x * 2)(x)
    out.register_hook(lambda g: seen.append(look(g)) or g * 3)
    out.retain_grad()
    (out * out).sum().backward()
    return [seen, *looks(out.grad, x.grad)]


@program
def hooks_after_accumulation(run):
    linear, seen = nn.Linear(3, 2), []
    with t.no_grad():
        linear.weight.copy_(line(2, 3))
        linear.bias.zero_()

    def step(p):
        with t.no_grad():
            p.sub_(0.1 * p.grad)
        seen.append(tuple(p.shape))
        p.grad = None

    for p in linear.parameters():
        p.register_post_accumulate_grad_hook(step)
    f = run(lambda x, w, b: nn.functional.linear(x, w, b).relu())
    f(line(4, 3), linear.weight, linear.bias).sum().backward()
    return [sorted(seen), *looks(linear.weight, linear.bias)]


@program
def hooks_of_an_inner_input(run):
    x, seen = leaf(3), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(look(g)))
    run(lambda y: y.sin())(y).sum().backward()
    return [seen, *looks(y.grad, x.grad)]


@program
def a_hook_of_several(run):
    x, y, seen = leaf(3), leaf(3), []
    t.autograd.graph.register_multi_grad_hook((x, y), lambda gs: seen.append(looks(*gs)))
    run(lambda x, y: x * y)(x, y).sum().backward()
    return seen


@program
def a_failing_hook(run):
    x, seen = leaf(3), []

    def fail(_):
        raise RuntimeError("no such gradient")

    x.register_hook(fail)
    out = run(lambda x: x * 2)(x)
    with errors(seen):
        out.sum().backward()
    return [*seen, x.grad]


# ---- modes and functions ----


@program
def with_and_without_gradients(run):
    x = leaf(3)
    f = run(lambda x: x * 2)
    a = f(x)
    with t.no_grad():
        b = f(x)
    a.sum().backward()
    return looks(a, b, x.grad)


@program
def a_function_of_the_user(run):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            index = x.argmax()
            ctx.mark_non_differentiable(index)
            return x * 2, index

        @staticmethod
        def backward(ctx, grad, _):
            (x,) = ctx.saved_tensors
            return grad * 5 + x * 0

    x = leaf(3)
    out, index = run(lambda x: Twice.apply(x.sin()))(x)
    out.sum().backward()
    return looks(out, index, x.grad)


@program
def a_gradient_inside(run):
    x = leaf(3)

    def f(x):
        y = x.sin()
        return y * 2, y.detach().requires_grad_().exp().detach()

    a, b = run(f)(x)
    a.sum().backward()
    return looks(a, b, x.grad)


@program
def detached_in_place(run):
    x = leaf(3)

    def f(x):
        h = x * 2
        h.detach_()
        return h + 1, x * 3

    a, b = run(f)(x)
    b.sum().backward()
    return looks(a, b, x.grad)


@program
def draws(run):
    x = leaf(64)
    t.manual_seed(3)
    out = run(lambda x: nn.functional.dropout(x, 0.5) * t.rand_like(x))(x)
    out.sum().backward()
    return looks(out, x.grad)


# ---- writes to inputs behind the program ----


def writes_behind(f):
    @program
    def added(run):
        x = leaf(2, 3)
        h = x * 0.5
        h += run(f)(h)
        h.sum().backward()
        return looks(h, x.grad)

    added.__name__ = f"writes_behind_{f.__name__}"


for function in (t.tanh, t.sigmoid, t.exp, t.sqrt, t.relu, t.reciprocal, t.tan):
    writes_behind(function)


@writes_behind
def several(h):
    return t.tanh(t.sigmoid(h)) + t.relu(h.t()).t() * 2


@writes_behind
def with_a_product(h):
    return t.exp(h).unsqueeze(0).sum(0) @ line(3, 3)


# ---- results that others are made of ----


def chained(x):
    a = x.exp()
    b = a * x
    return a, b, b.sin() * a


@program
def hooks_of_results_that_others_are_made_of(run):
    x, seen = leaf(3), []
    results = run(chained)(x)
    for name, result in zip("abc", results):
        result.register_hook(lambda g, name=name: seen.append((name, look(g))))
        result.register_hook(lambda g: g * 2)
        result.register_hook(lambda g, name=name: seen.append((name, look(g))))
        result.retain_grad()
    sum(result.sum() for result in results).backward()
    return [seen, *looks(*(result.grad for result in results), x.grad)]


@program
def hooks_of_a_result_whose_gradient_comes_from_others(run):
    x, seen = leaf(3), []
    a, b, c = run(chained)(x)
    a.register_hook(lambda g: seen.append(look(g)))
    handle = b.register_hook(lambda g: g * 10)
    b.sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward(retain_graph=True)
    (a * 2).sum().backward()
    return [seen, look(x.grad)]


def _write_and_read(x):
    x.mul_(3)
    return x.sin()


@program
def hooks_of_a_written_input_that_results_are_made_of(run):
    x, seen = leaf(3), []
    y = x * 2
    y.register_hook(lambda g: seen.append(look(g)))
    z = run(_write_and_read)(y)
    y.register_hook(lambda g: seen.append(look(g)) or g * 2)
    y.retain_grad()
    (y.exp() + z).sum().backward()
    return [seen, *looks(y.grad, x.grad)]


@program
def gradients_by_a_written_input_that_results_are_made_of(run):
    x = leaf(3)
    y = x * 2
    z = run(_write_and_read)(y)
    alone = t.autograd.grad(z.sum(), y, retain_graph=True)
    return looks(*alone, *t.autograd.grad(z.sum() + y.exp().sum(), (y, x)))


@program
def a_hook_inside_comes_before_hooks_outside(run):
    x, seen = leaf(3), []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y, y.sin()

    y, z = run(f)(x)
    y.register_hook(lambda g: seen.append(look(g)))
    y.retain_grad()
    (y * 3 + z).sum().backward()
    return [seen, *looks(y.grad, x.grad)]


@program
def a_hook_inside_on_a_part(run):
    x, seen = leaf(4), []

    def f(x):
        a, b = (x * 2).chunk(2)
        c = x.view(2, 2)
        a.register_hook(lambda g: g * 10)
        c.register_hook(lambda g: g + 1)
        return a, b, c, (a * b).sum()

    a, b, c, d = run(f)(x)
    a.register_hook(lambda g: seen.append(look(g)))
    (a.exp().sum() + b.sum() + (c * 3).sum() + d).backward()
    return [seen, *looks(a, b, c, x.grad)]


@program
def gradients_by_results(run):
    x, seen = leaf(3), []
    a, b, c = run(chained)(x)
    seen += looks(*t.autograd.grad(c.sum(), [a, b, x], retain_graph=True))
    seen += looks(*t.autograd.grad(b.sum(), a, retain_graph=True))
    seen += looks(*t.autograd.grad((c + b).sum(), [b], retain_graph=True))
    with errors(seen):
        t.autograd.grad(a.sum(), b, retain_graph=True)
    c.sum().backward()
    return [*seen, look(x.grad)]


@program
def gradients_of_gradients_by_results(run):
    x = leaf(3)
    a, b, c = run(chained)(x)
    (g,) = t.autograd.grad(c.sum(), a, create_graph=True)
    (h,) = t.autograd.grad((g * x).sum(), x, create_graph=True)
    h.sum().backward()
    return looks(g, h, x.grad)


@program
def steps_of_descent(run):
    w, x = leaf(3), line(4, 3)

    def step(p, x):
        q = p * 1.5
        return q, ((x @ q) ** 2).mean()

    f, p = run(step), w
    for _ in range(3):
        q, loss = f(p, x)
        (g,) = t.autograd.grad(loss, q, create_graph=True)
        p = q - 0.1 * g
    f(p, x)[1].backward()
    return looks(p, w.grad)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_see_the_same(program, backend):
    check(program, backend)


# ---- what a backward needs, overwritten ----


def overwritten(x, z):
    h = x * 1
    y = h.sin()
    h.add_(1)
    return y, z * 2, h


def overwritten_input(x, z):
    y = x.sin()
    x.add_(1)
    return y, z * x


class Sine(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()


def overwritten_for_a_function(x, z):
    y = Sine.apply(x)
    x.add_(1)
    return y, z * x


def overwritten_for_a_region(x, z):
    y = checkpoint(lambda v: v.sin().cos(), x, use_reentrant=False)
    x.add_(1)
    return y, z * x


OVERWRITTEN = [
    overwritten,
    overwritten_input,
    overwritten_for_a_function,
    overwritten_for_a_region,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", OVERWRITTEN)
def test_an_overwritten_value_fails_in_the_backward_that_needs_it(f, backend):
    for g in (f, BACKENDS[backend](f)):
        leaf, z = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
        y, good, *_ = g(leaf * 1, z)
        assert y.requires_grad
        assert t.equal(t.autograd.grad(good.sum(), z, retain_graph=True)[0], good.detach())
        (first,) = t.autograd.grad(good.exp().sum(), leaf, create_graph=True, allow_unused=True)
        if first is not None:
            second = t.autograd.grad(first.sum(), z, retain_graph=True)[0]
            assert t.allclose(second, (good.exp() * (1 + good)).detach())
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_another_loss_needs_may_be_overwritten(backend):
    def f(x, y, b):
        return x * b, y * 2, x.exp() + y

    for g in (f, BACKENDS[backend](f)):
        x, y, b = leaf(3), leaf(3), line(3)
        of_b, of_none, of_x = g(x, y, b)
        b.add_(1)
        assert t.equal(t.autograd.grad(of_none.sum(), y, retain_graph=True)[0], t.full((3,), 2.0))
        found = t.autograd.grad(of_x.sum(), [x, y], retain_graph=True)
        assert t.allclose(found[0], x.detach().exp()) and t.equal(found[1], t.ones(3))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            of_b.sum().backward()


def test_an_overwritten_value_that_no_loss_needs():
    def f(x):
        h = x * 1
        a, b = h.view(-1), h[:]
        b.sin()
        a.add_(1)
        return b

    x = t.ones(3, requires_grad=True)
    BACKENDS["nop"](f)(x).sum().backward()
    assert t.equal(x.grad, t.ones(3))
