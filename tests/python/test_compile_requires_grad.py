"""Compiled programs that tell tensors to require gradients or not leave a plain run's flags."""

import copy
import importlib
import os

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
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


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.second(self.first(x).tanh())


def freeze(module, flag):
    for parameter in module.parameters():
        parameter.requires_grad_(flag)


def frozen_for_a_call(model, x):
    freeze(model.first, False)
    y = model(x)
    freeze(model.first, True)
    return y


def frozen_from_now_on(model, x):
    model.first.requires_grad_(False)
    return model(x)


def frozen_by_attribute(model, x):
    for parameter in model.second.parameters():
        parameter.requires_grad = False
    assert not model.second.weight.requires_grad
    return model(x) * 2


def frozen_and_put_back(model, x):
    flags = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    y = model(x)
    for parameter, flag in zip(model.parameters(), flags, strict=True):
        parameter.requires_grad = flag
    return y


def frozen_alone(model, x):
    flags = [p.requires_grad for p in model.parameters()]
    model.first.requires_grad_(False)
    return x if all(flags) else model(x)


def read_behind(model, x):
    freeze(model, False)
    y = model(x)
    freeze(model, True)
    return y if all(p.requires_grad and p.ndim for p in model.parameters()) else x


def written_and_frozen(model, x):
    with t.no_grad():
        model.first.weight.mul_(0.5)
    y = model(x)
    freeze(model.first, False)
    return y


def told_twice(model, x):
    freeze(model, False)
    freeze(model, True)
    return model(x)


def frozen_behind(model, x):
    y = model(x)
    freeze(model.second, False)
    return y


def an_input_told(model, x):
    x.requires_grad_()
    return model(x).sum() + x.sum()


def set_between_uses(model, x):
    y = model.first(x)
    freeze(model.first, False)
    z = model.first(x)
    freeze(model.first, True)
    return y + z


def with_a_break(model, x):
    freeze(model.first, False)
    y = model.first(x)
    t._dynamo.graph_break()
    return model.second(y)


@pytest.mark.parametrize(
    "program, breaks",
    [
        (frozen_for_a_call, 0),
        (frozen_from_now_on, 0),
        (frozen_by_attribute, 0),
        (frozen_and_put_back, 0),
        (frozen_alone, 0),
        (read_behind, 0),
        (written_and_frozen, 0),
        (told_twice, 0),
        (frozen_behind, 0),
        (an_input_told, 0),
        (set_between_uses, 1),
        (with_a_break, 1),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_parameters_that_are_told_to_require_gradients_or_not(compiled, program, breaks):
    t.manual_seed(0)
    models = [Pair()]
    models.append(copy.deepcopy(models[0]))
    call = compiled(program)
    for step in range(3):
        found = []
        for function, model in zip((call, program), models, strict=True):
            x = t.arange(6.0).reshape(2, 3) + step
            y = function(model, x)
            if y.requires_grad:
                y.sum().backward()
            state = [(p.requires_grad, p.grad) for p in [*model.parameters(), x]]
            found.append((y, y.requires_grad, state))
        t.testing.assert_close(found[0][0], found[1][0])
        assert found[0][1] == found[1][1]
        for (flag, grad), (expected_flag, expected) in zip(found[0][2], found[1][2], strict=True):
            assert flag == expected_flag and (grad is None) == (expected is None)
            if grad is not None:
                t.testing.assert_close(grad, expected)
        if step == 0:
            assert sum(counters["graph_break"].values()) == breaks


@pytest.mark.parametrize("flag", [True, False])
def test_what_is_said_beside_a_write_is_done_once(compiled, flag):
    def program(x):
        told.append(x.requires_grad)
        x.requires_grad = False
        x.add_(1)
        told.append(x.requires_grad)
        return x * 2

    call = compiled(program)
    for _ in range(2):
        told, x = [], t.ones(3, requires_grad=flag)
        y = call(x)
        assert told == [flag, False] and not x.requires_grad
        assert t.equal(x, t.full((3,), 2.0)) and t.equal(y, x * 2)


@pytest.mark.parametrize("is_view_first", [True, False])
def test_a_view_requires_gradients_with_its_base(compiled, is_view_first):
    def program(x, view):
        y = view * 3 if is_view_first else 0
        x.requires_grad_()
        return x * 2, view * 3 + y, view.requires_grad

    call = compiled(program)
    for _ in range(2):
        x = t.ones(3)
        twice, thrice, flag = call(x, x[1:])
        assert flag and thrice.requires_grad and twice.requires_grad


def told_behind_a_view(x):
    view = x.view(-1)
    x.requires_grad_()
    return view * 2, view.requires_grad


def told_behind_a_view_without_gradients(x):
    x.requires_grad_()
    with t.no_grad():
        view = x.view(-1)
    flag = view.requires_grad
    x.requires_grad_(False)
    return view * 2, flag


def told_behind_a_view_with_gradients(x):
    x.requires_grad_()
    view = x.view(-1)
    x.requires_grad_(False)
    return view * 2, view.requires_grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_views_of_a_detached_tensor_keep_no_flag_of_it(backend):
    def program(x):
        view, y = x.detach().view(-1), x + 1
        part = y.data[1:]
        x.requires_grad_()
        return view, y, part

    for run in (program, t.compile(program, backend=backend, fullgraph=True)):
        view, y, part = run(x := t.ones(3))
        y.requires_grad_()
        assert view.data_ptr() == x.data_ptr() and x.requires_grad
        assert not view.requires_grad and not part.requires_grad


@pytest.mark.parametrize(
    "program, breaks",
    [
        (told_behind_a_view, 1),
        (told_behind_a_view_without_gradients, 1),
        (told_behind_a_view_with_gradients, 0),
    ],
)
def test_views_that_the_program_makes_of_what_it_tells(compiled, program, breaks):
    call = compiled(program)
    for _ in range(2):
        facts = [(y.requires_grad, flag) for y, flag in (run(t.ones(3)) for run in (call, program))]
        assert facts[0] == facts[1]
    assert sum(counters["graph_break"].values()) == breaks


def test_views_and_results_where_tensors_of_their_own_were(compiled):
    def tells(x, view):
        x.requires_grad_()
        return x * 2, view * 3, view.requires_grad

    call = compiled(tells)
    for is_view in (False, True, False):
        x = t.ones(3)
        _, thrice, flag = call(x, x[1:] if is_view else t.ones(2))
        assert flag == thrice.requires_grad == is_view

    def freezes(x):
        told.append("before")
        y = x * 2
        x.requires_grad_(False)
        told.append("behind")
        return y

    call = compiled(freezes)
    for is_leaf in (True, False, True):
        told, x = [], t.ones(3, requires_grad=True)
        if is_leaf:
            assert call(x).requires_grad and not x.requires_grad
        else:
            with pytest.raises(RuntimeError, match="leaf"):
                call(x * 1)
        assert told == ["before", "behind"][: 1 + is_leaf]


def test_flags_by_numbers_that_change(compiled):
    def program(x, n):
        x.requires_grad = n % 2 == 0
        y = x.requires_grad_(n % 3 != 1) * n
        return y, x.is_leaf, x.grad_fn

    call = compiled(program, fullgraph=True)
    for n in range(2, 9):
        x = t.ones(3)
        y, is_leaf, grad_fn = call(x, n)
        assert y.requires_grad == x.requires_grad == (n % 3 != 1)
        assert is_leaf and grad_fn is None


def test_leaves_and_results_are_told_apart(compiled):
    def program(x):
        return x * (2 if x.is_leaf else 3)

    call, leaf = compiled(program, fullgraph=True), t.ones(3, requires_grad=True)
    for x in (leaf, leaf * 1, leaf):
        assert t.equal(call(x), program(x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_a_tensor_of_the_program_that_is_detached_in_place(is_leaf, backend):
    def program(x):
        y = x * 2
        x.detach_()
        return y, x * 3

    call = t.compile(program, backend=backend)
    for _ in range(2):
        leaf = t.ones(3, requires_grad=True)
        x = leaf if is_leaf else leaf * 1
        y, z = call(x)
        assert not x.requires_grad and x.is_leaf and not z.requires_grad
        assert t.equal(z, t.full((3,), 3.0))
        y.sum().backward()
        assert (leaf.grad is None) if is_leaf else t.equal(leaf.grad, t.full((3,), 2.0))


def test_a_region_that_raises_leaves_what_was_said_of_parameters(compiled):
    model = Pair()

    def program(x, indices):
        freeze(model, False)
        return model(x)[indices]

    call = compiled(program)
    with pytest.raises(IndexError):
        call(t.ones(2, 3), t.tensor([5]))
    assert not any(p.requires_grad for p in model.parameters())  # as the program itself leaves it
    freeze(model, True)
    assert not call(t.ones(2, 3), t.tensor([1])).requires_grad


def test_gradients_that_a_tensor_cannot_require():
    def told(x):
        y = x * 2
        try:
            x.requires_grad_()
        except RuntimeError as error:
            return y, str(error)

    whole = t.ones(2, dtype=t.int64)
    assert t.compile(told, backend="eager")(whole)[1] == told(whole)[1]

    def detached(x):
        y = x + 1
        x.requires_grad_(False)
        return y

    inner = t.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        t.compile(detached, backend="eager")(inner)


def test_the_flag_of_a_tensor_that_is_no_leaf_is_not_set(compiled):
    def program(x):
        y = x * 2
        x.requires_grad = True
        return y

    for f in (program, compiled(program)):
        assert f(t.ones(2)).tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="leaf"):
            f(t.ones(2, requires_grad=True) * 1)


def test_views_of_a_view_with_a_flag_of_its_own(compiled):
    """What such a tensor is a view of requires no gradients, and they follow it."""

    def unrecorded(x):
        with t.no_grad():
            return x[1:]

    def older(x):
        v = x[1:]
        x.detach().add_(1)
        return v

    for program in (unrecorded, older):
        for f in (program, compiled(program)):
            x = t.zeros(4).view(2, 2).requires_grad_()
            v = f(x)
            if program is unrecorded:
                assert not v.requires_grad
            else:
                assert t.autograd.grad(v.sum(), x, allow_unused=True)[0] is None


def test_a_write_that_autograd_refuses_for_what_an_input_is_a_view_of(compiled):
    def program(x, v):
        y = x * 2
        v.mul_(2)
        return y

    for f in (program, compiled(program)):
        x = t.ones(2, 3, requires_grad=True)
        with pytest.raises(RuntimeError, match="view of a leaf"):
            f(x, x[1:])
