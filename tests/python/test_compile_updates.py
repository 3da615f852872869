"""Compiled programs that give tensors new data and know objects by address; lines of their breaks."""

import functools
import importlib
import inspect
import operator

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
parametrize = importlib.import_module(f"{NAME}.nn.utils.parametrize")
Unsupported = importlib.import_module(f"{NAME}._dynamo.exc").Unsupported
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

both = pytest.mark.parametrize("backend", ["eager", "inductor"])


def whole(program, backend):
    return t.compile(program, backend=backend, fullgraph=True)


@both
def test_a_teacher_follows_over_steps(backend):
    def run(wrap):
        t.manual_seed(0)
        student, teacher = nn.Linear(3, 2), nn.Linear(3, 2).requires_grad_(False)
        optimizer = t.optim.SGD(student.parameters(), lr=0.1)

        def loss_of(x):
            with t.no_grad():
                for ours, theirs in zip(teacher.parameters(), student.parameters(), strict=True):
                    ours.data = ours.data * 0.9 + theirs.data * 0.1
            return (student(x) - teacher(x)).pow(2).mean()

        loss_of = wrap(loss_of)
        losses = []
        for size in (4, 4, 5, 6):
            loss = loss_of(t.arange(3.0 * size).view(size, 3))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [*teacher.parameters(), *student.parameters()]

    expected, kept = run(lambda program: program)
    losses, got = run(lambda program: whole(program, backend))
    assert losses == pytest.approx(expected, rel=1e-5)
    for a, b in zip(got, kept, strict=True):
        assert type(a) is nn.Parameter and t.allclose(a, b, rtol=1e-5)


@both
def test_gradients_go_to_the_tensor_whose_data_was_set(backend):
    weight = nn.Parameter(t.ones(3))

    def program(x):
        with t.no_grad():
            weight.data = weight.data * 2
        return (weight * weight * x).sum()

    compiled = whole(program, backend)
    for factor in (2.0, 4.0):
        weight.grad = None
        compiled(t.ones(3)).backward()
        assert t.equal(weight, t.full((3,), factor))
        assert t.equal(weight.grad, t.full((3,), 2 * factor))


@both
def test_memory_is_shared_as_plainly(backend):
    x, y = t.zeros(3), t.arange(3.0)
    other = x.view(-1)

    def program(x, y):
        x.data = y
        x.add_(1)

    whole(program, backend)(x, y)
    assert x.data_ptr() == y.data_ptr() and t.equal(x, t.arange(1.0, 4.0))
    assert t.equal(other, t.zeros(3))


def test_data_of_a_wrong_kind_is_the_programs_error():
    weight = nn.Parameter(t.ones(2))

    def program(weight):
        weight.data = t.ones(2, dtype=t.long)

    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        t.compile(program, backend="eager")(weight)
    assert weight.dtype == t.float32


def test_addresses_of_other_objects_are_compiled_again():
    names, counts = {}, []
    models = [nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)]
    names[id(models[1])] = 5

    @functools.partial(t.compile, backend="eager", fullgraph=True)
    def named(model, x):
        counts.append(id(model))
        return x + names.get(id(model), 1), id(model)

    for model in (*models, models[1]):
        given, address = named(model, t.zeros(1))
        assert given.item() == names.get(id(model), 1) and address == id(model)
    assert counts == [id(model) for model in (*models, models[1])]


@pytest.mark.parametrize("dynamic", [None, True])
def test_what_is_kept_by_size_is_made_once_per_size(dynamic):
    grids = {}

    @functools.partial(t.compile, backend="eager", fullgraph=True, dynamic=dynamic)
    def program(x):
        rows, columns = x.shape
        if (rows, columns) not in grids:
            grids[rows, columns] = t.full((rows, columns), rows)
        return x + grids[rows, columns]

    made = {}
    for rows in (2, 4, 5, 4, 2, 6):
        assert t.equal(program(t.zeros(rows, 3)), t.full((rows, 3), float(rows)))
        kept = made.setdefault((rows, 3), grids[rows, 3])
        assert kept is grids[rows, 3]
    assert all(type(n) is int for key in grids for n in key)
    assert list(grids) == [(2, 3), (4, 3), (5, 3), (6, 3)]


@both
def test_a_cache_of_parametrizations_around_calls(backend):
    class Doubled(nn.Module):
        def forward(self, weight):
            return weight * 2

    model = nn.Linear(3, 2)
    parametrize.register_parametrization(model, "weight", Doubled())
    compiled = t.compile(model, backend=backend, fullgraph=True)
    x = t.ones(2, 3)
    for _ in range(2):
        with parametrize.cached():
            assert t.allclose(compiled(x), model(x))
            assert t.allclose(compiled(x), model(x))
    assert t.allclose(compiled(x), model(x))


def test_unused_inputs_are_no_inputs_of_the_graph():
    seen = []

    def backend(gm, inputs):
        seen.append(len(inputs))
        return gm.forward

    t.compile(lambda x, unused: (x + 1, unused), backend=backend)(t.ones(2), t.ones(3))
    assert seen == [1]


def stops(x):
    return x + 1 if t.relu(x).sum() > 0 else x


def calls_and_stops(model, x):
    x = x + 1
    return stops(model(x))


def test_errors_name_every_line_of_the_program():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.raises(Unsupported) as error:
        t.compile(calls_and_stops, fullgraph=True, backend="eager")(model, t.ones(2))
    text = str(error.value)
    first = inspect.getsourcelines(calls_and_stops)[1] + 2
    second = inspect.getsourcelines(stops)[1] + 1
    lines = [f'test_compile_updates.py", line {n}, in' for n in (first, second)]
    assert all(line in text for line in lines), text
    assert text.index(lines[0]) < text.index(lines[1])
    assert "_compile.py" not in text


class Remembers(nn.Module):
    """Its parameter's gradient, which is the package's own code to ask."""

    def forward(self, x):
        x = x * 2
        norm = nn.utils.clip_grad_norm_(self.parameters(), 1.0, error_if_nonfinite=True)
        return x + norm


def test_breaks_in_the_package_name_the_line_that_called_it():
    model = Remembers()
    model.weight = nn.Parameter(t.ones(2))
    model.weight.grad = t.ones(2)
    explained = t._dynamo.explain(model)(t.ones(2))
    assert explained.break_reasons
    line = inspect.getsourcelines(Remembers.forward)[1] + 2
    for reason in explained.break_reasons:
        assert reason.user_stack[0].filename == __file__
        assert reason.user_stack[0].lineno == line
    with pytest.raises(Unsupported, match=rf'test_compile_updates.py", line {line}, in forward'):
        t.compile(model, fullgraph=True, backend="eager")(t.ones(2))


@both
def test_new_data_behind_a_use_with_gradients(backend):
    """Saved tensors show the new data, as in eager."""

    def program(p, x):
        before = (p * x).sum()
        p.data = p.data * 2
        return before + (p * x).sum()

    found = []
    for run in (program, t.compile(program, backend=backend)):
        p = nn.Parameter(t.tensor([1.0, 2.0]))
        x = t.tensor([3.0, 4.0], requires_grad=True)
        result = run(p, x)
        result.backward()
        found.append([value.tolist() for value in (result.detach(), p.grad, x.grad, p.data)])
    assert found[0] == found[1]
    assert found[0][2] == [4.0, 8.0]


CHANGES = {
    "other memory": lambda p: setattr(p, "data", p.data * 0.5 + 0.1),
    "its own memory": lambda p: p.data.mul_(0.5),
}


@both
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_before_backward", [True, False])
def test_data_of_parameters_that_change_around_the_backward(change, is_before_backward, backend):
    def run(wrap):
        t.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        called, results = wrap(model), []
        for size in (2, 3, 4):
            model.zero_grad()
            x = t.arange(3.0 * size).view(size, 3).requires_grad_()
            loss = called(x).square().sum()
            if not is_before_backward:
                loss.backward()
            for parameter in model.parameters():
                CHANGES[change](parameter)
            if is_before_backward:
                loss.backward()
            results += [loss.detach(), x.grad, *(p.grad.clone() for p in model.parameters())]
        return results

    for own, plain in zip(run(lambda m: whole(m, backend)), run(lambda m: m), strict=True):
        assert t.allclose(own, plain, atol=1e-5, rtol=1e-4)


def scaled(x, *, by=1, plus=0):
    return x * by + plus


def with_a_keyword(given, x, number):
    given.keywords["by"] = number
    return given(x)


def without_a_keyword(given, x, number):
    given.keywords.pop("plus")
    given.keywords.update(by=number)
    return given(x) + functools.partial(given, plus=1)(x)


@pytest.mark.parametrize("program", [with_a_keyword, without_a_keyword])
def test_keywords_that_a_partial_is_given(program):
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for number in (2, 3, 4):
        one, other = (functools.partial(scaled, by=9, plus=5) for _ in range(2))
        x = t.ones(2)
        assert t.equal(compiled(one, x, number), program(other, x, number))
        assert one.keywords == other.keywords


CACHES = {
    "an item": lambda n, cache: cache.__setitem__(n, 1.5),
    "two items": lambda n, cache: (
        operator.setitem(cache, n, 1),
        operator.setitem(cache, n * 2, 2),
    ),
    "where it is not yet": lambda n, cache: cache.setdefault(n, n) if n not in cache else None,
    "update": lambda n, cache: cache.update({n: 2}),
    "merge": lambda n, cache: operator.ior(cache, {n: 3, n + 1: 4}),
    "comprehension": lambda n, cache: cache.update({n + i: i for i in range(2)}),
}


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_by_size_is_filled(name):
    """A size that changes is a key by its value, once per size."""

    def program(x, cache):
        n = x.shape[0]
        CACHES[name](n, cache)
        if n not in cache:
            cache[n] = 0
        cache[n] = cache[n] + 1
        return x * cache[n]

    compiled = t.compile(program, backend="eager", fullgraph=True)
    one, other = {}, {}
    for n in (4, 5, 7, 5, 4):
        assert t.equal(compiled(t.ones(n), one), program(t.ones(n), other))
        assert one == other and [type(key) for key in one] == [int] * len(one)


class Notes:
    """An object whose attributes programs make."""


class Noting(nn.Module):
    def forward(self, x):
        self.last = x.sum()
        self.kind = "noted"
        return x * 2


def test_attributes_that_a_first_call_makes_are_no_reason_to_compile_again():
    notes, module, x = Notes(), Noting(), t.ones(2)

    def program(x):
        global noted
        noted = x * 3
        notes.value = x + 1
        return module(x)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    counters.clear()
    for _ in range(3):
        assert t.equal(compiled(x), x * 2)
        assert t.equal(notes.value, x + 1) and t.equal(noted, x * 3) and module.last == 2
        x = x + 0
    assert counters["stats"]["unique_graphs"] == 1 and list(vars(notes)) == ["value"]
    x = t.ones(2)
    del notes.value
    assert t.equal(compiled(x), x * 2) and t.equal(notes.value, x + 1)
    assert counters["stats"]["unique_graphs"] == 1


def test_an_attribute_that_is_written_and_deleted():
    def program(notes, x):
        notes.value = x + 1
        notes.other = 3
        del notes.value
        return x * 2

    compiled = t.compile(program, backend="eager", fullgraph=True)
    for former in ({}, {"value": 5}, {}, {"value": 5, "other": 7}):
        notes = Notes()
        vars(notes).update(former)
        assert t.equal(compiled(notes, t.ones(2)), t.full((2,), 2.0))
        assert vars(notes) == {"other": 3}


def test_attributes_keep_their_order():
    def program(notes, x):
        notes.b = x + 1
        notes.a = 3
        notes.b = x
        return x * 2

    def listed(notes, x):
        program(notes, x)
        return list(vars(notes)), len(vars(notes))

    for former in ({}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {}):
        expected, notes = Notes(), Notes()
        for one in (expected, notes):
            vars(one).update(former)
        program(expected, t.ones(2))
        kept = list(vars(expected))
        t.compile(program, backend="eager", fullgraph=True)(notes, t.ones(2))
        assert list(vars(notes)) == kept
        assert t.compile(listed, backend="eager", fullgraph=True)(notes, t.ones(2)) == (kept, 2)
