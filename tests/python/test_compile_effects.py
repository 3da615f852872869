"""What a compiled program does beside its result: calls that are remembered, ends of objects, random
numbers of Python."""

import collections
import functools
import gc
import importlib
import random
import typing
import warnings
import weakref

import pytest
from compiled_case import is_same
from under_test import NAME, t

compiler = importlib.import_module(f"{NAME}.compiler")
counters = importlib.import_module(f"{NAME}.compiler._counters").counters

BACKENDS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}
both = pytest.mark.parametrize("backend", BACKENDS)


def compiled_by(backend, function, **options):
    counters.clear()
    return t.compile(function, backend=backend, **BACKENDS[backend], **options)


# ---- functions that remember their results ----


def test_a_function_that_remembers_prints_once(capsys):
    @functools.lru_cache
    def table(n):
        print("made", n)
        return n * 2

    def program(x, n):
        return x * table(n) + table(n)

    compiled = compiled_by("eager", program)
    for n in (2, 2, 3, 2, 3):
        assert is_same(compiled(t.ones(2), n), t.full((2,), 4.0 * n))
    assert capsys.readouterr().out == "made 2\nmade 3\n"


def test_a_function_that_remembers_and_writes_does_so_once():
    log = []

    @functools.cache
    def noted(n):
        log.append(n)
        return n + 1

    compiled = compiled_by("eager", lambda x: x + noted(4) + noted(4))
    for _ in range(3):
        log.append("call")
        assert is_same(compiled(t.zeros(2)), t.full((2,), 10.0))
    assert log == ["call", 4, "call", "call"]


def test_functions_that_remember_are_made_and_counted_inside():
    def program(x):
        @functools.lru_cache
        def twice(n):
            return n * 2

        @functools.cache
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        y = x * twice(3) + twice(3)
        try:
            y = y + fibonacci(10)
        except NameError:
            y = y - 1
        return y, twice.cache_info()[:2], fibonacci.cache_info()[:2]

    assert is_same(compiled_by("eager", program)(t.ones(2)), program(t.ones(2)))


def test_remembered_results_are_one_object():
    @functools.lru_cache(maxsize=4)
    def made(n):
        return [t.ones(n)]

    def program(x):
        return made(2), x + made(2)[0], made(2) is made(2)

    compiled = compiled_by("eager", program, fullgraph=True)
    results = [compiled(t.ones(2)) for _ in range(3)]
    assert all(one[0] is made(2) and one[2] for one in results)
    made(2)[0].fill_(5)
    assert is_same(compiled(t.ones(2))[1], t.full((2,), 6.0))
    made.cache_clear()
    assert is_same(compiled(t.ones(2))[1], t.full((2,), 2.0))


def test_functions_that_remember_of_tensors_and_objects():
    class Model:
        @functools.lru_cache  # noqa: B019
        def scale(self, n):
            return n / 2

    @functools.lru_cache
    def twice(x):
        return x * 2

    model = Model()
    compiled = compiled_by("eager", lambda x, n: twice(x) * model.scale(n), fullgraph=True)
    for n in (1, 2, 3):
        assert is_same(compiled(t.ones(2), n), t.full((2,), float(n)))


def test_functions_that_remember_draw_once():
    @functools.cache
    def noise():
        return t.rand(3)

    def program(x):
        return x + t.rand(3) + noise()

    t.manual_seed(3)
    noise.cache_clear()
    expected = [program(t.zeros(3)) for _ in range(3)]
    noise.cache_clear()
    t.manual_seed(3)
    compiled = compiled_by("eager", program)
    assert is_same([compiled(t.zeros(3)) for _ in range(3)], expected)


def as_plainly(make, *calls):
    """Runs a program of fresh state plainly and compiled by both backends; its logs are equal."""
    plain, log = make()
    expected = [(plain(*call), log()) for call in calls]
    for backend in BACKENDS:
        program, log = make()
        compiled = compiled_by(backend, program)
        assert is_same([(compiled(*call), log()) for call in calls], expected, True), backend


def remembering(cache, argument, **keywords):
    def make():
        @cache
        def made(n, plus=0):
            return [n, plus]

        def program(x, n):
            one = made(argument(n), **keywords)
            one.append(len(one))
            return x * one[0] + len(one), one is made(argument(n), **keywords)

        return program, made.cache_info

    return make


@pytest.mark.parametrize(
    "make",
    [
        remembering(functools.cache, lambda n: n),
        remembering(functools.lru_cache(maxsize=1), lambda n: n),
        remembering(functools.lru_cache(maxsize=2), lambda n: n / 2),
        remembering(functools.lru_cache(typed=True), lambda n: n if n % 2 else float(n)),
        remembering(functools.cache, lambda n: n, plus=2),
        remembering(functools.lru_cache(maxsize=0), lambda n: 3),
        remembering(functools.cache, lambda n: 3),
    ],
)
def test_functions_that_remember_give_one_object_and_count(make):
    as_plainly(make, *((t.ones(2), n) for n in (2, 2, 3, 4, 2, 5, 3)))


def test_a_function_that_remembers_counts_its_own_calls():
    def make():
        @functools.cache
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        return (lambda x, n: x * fibonacci(n)), fibonacci.cache_info

    as_plainly(make, *((t.ones(2), n) for n in (5, 7, 6, 10, 3)))


def test_functions_that_remember_are_told_apart():
    def make():
        caches = [functools.cache(lambda n, k=k: [n * k]) for k in (2, 3)]

        def program(x, which):
            made = caches[which](5)
            made.append(1)
            return x * made[0] + len(made)

        return program, lambda: [one.cache_info() for one in caches]

    as_plainly(make, *((t.ones(2), which) for which in (0, 0, 1, 0, 1)))


def test_what_is_remembered_stays_when_what_it_read_changes():
    def make():
        factor = [1]

        @functools.cache
        def scaled(n):
            return n * factor[0]

        def program(x, n, by):
            factor[0] = by
            return x * scaled(n)

        return program, scaled.cache_info

    calls = ((2, 1), (2, 5), (3, 5), (3, 7), (4, 7), (4, 9))
    as_plainly(make, *((t.ones(1), *call) for call in calls))


# ---- ends of objects ----


class Ending:
    def __init__(self, log, name):
        self.log, self.name = log, name
        log.append(f"+{name}")

    def __del__(self):
        self.log.append(f"-{self.name}")


def order_of_a_variable(x, log):
    one = Ending(log, "one")
    log.append("between")
    one = Ending(log, "other")
    log.append(one.name)
    del one
    log.append("behind")
    return x + 1


def order_of_a_call(x, log):
    def inner(v):
        held = Ending(log, "held")
        return v * len(held.name)

    y = inner(x)
    log.append("returned")
    return y


def order_of_an_attribute(x, log):
    class Owner:
        pass

    owner = Owner()
    owner.part = Ending(log, "part")
    log.append("made")
    owner.part = None
    log.append("behind")
    return x


def order_of_a_temporary(x, log):
    y = x * len(Ending(log, "gone").name)
    log.append("behind")
    return y


def order_of_finalizers(x, log):
    class Plain:
        pass

    plain = Plain()
    weakref.finalize(plain, log.append, "finalized")
    log.append("before")
    del plain
    log.append("behind")
    return x + 1


def order_of_references(x, log):
    class Plain:
        pass

    plain = Plain()
    seen = weakref.ref(plain)
    log.append(seen() is plain)
    del plain
    log.append(seen() is None)
    return x + 1


def order_of_a_loop(x, log):
    for i in range(3):
        one = Ending(log, i)
        x = x + one.name
        log.append("step")
    return x


ORDERS = [
    order_of_a_variable,
    order_of_a_call,
    order_of_an_attribute,
    order_of_a_temporary,
    order_of_finalizers,
    order_of_references,
    order_of_a_loop,
]


@both
@pytest.mark.parametrize("program", ORDERS, ids=lambda program: program.__name__)
def test_objects_end_when_they_do_plainly(program, backend):
    expected = []
    result = program(t.ones(2), expected)
    compiled = compiled_by(backend, program)
    for _ in range(3):
        log = []
        assert is_same(compiled(t.ones(2), log), result)
        gc.collect()
        assert log == expected


def test_weak_references_to_objects_of_the_program():
    class Plain:
        pass

    plain = Plain()
    plain.by = 3

    def program(x):
        reference = weakref.ref(plain)
        return x * reference().by, reference

    compiled = compiled_by("eager", program, fullgraph=True)
    for _ in range(2):
        y, reference = compiled(t.ones(2))
        assert is_same(y, t.full((2,), 3.0)) and reference() is plain


# ---- random numbers of Python ----


def draws(x):
    y = x * random.random() + random.uniform(1, 2)
    return y, random.randint(1, 6), random.gauss(0.0, 1.0)


def draws_behind_a_seed(x):
    random.seed(7)
    return x * random.random(), random.randrange(10)


def draws_and_decides(x):
    if random.random() < 0.5:
        return x + 1
    return x - random.randint(0, 9)


def draws_of_its_own(x):
    own = random.Random(5)
    chosen = own.choice([1, 2, 3])
    order = [1, 2, 3, 4]
    own.shuffle(order)
    return x * own.uniform(0, 1) + chosen, order, own.sample(range(9), 3)


def draws_in_a_loop(x):
    return [x * random.random() for _ in range(3)]


def draws_before_an_error(x):
    random.random()
    return x @ x.new_ones(5, random.randint(2, 2))


@both
@pytest.mark.parametrize(
    "program",
    [draws, draws_behind_a_seed, draws_and_decides, draws_of_its_own, draws_in_a_loop],
    ids=lambda program: program.__name__,
)
def test_random_numbers_are_those_of_the_plain_program(program, backend):
    random.seed(1)
    expected = [program(t.ones(2)) for _ in range(6)] + [random.random()]
    random.seed(1)
    compiled = compiled_by(backend, program)
    got = [compiled(t.ones(2)) for _ in range(6)] + [random.random()]
    assert is_same(got, expected, is_rounded=True)


@pytest.mark.parametrize("program", [draws, draws_behind_a_seed, draws_of_its_own, draws_in_a_loop])
def test_random_numbers_are_no_break(program):
    compiled = compiled_by("eager", program, fullgraph=True)
    for _ in range(3):
        compiled(t.ones(2))
    assert counters["stats"]["unique_graphs"] == 1


def test_a_generator_of_the_program():
    class Sampler:
        def __init__(self):
            self.generator = random.Random(3)

        def draw(self, x):
            return x * self.generator.uniform(0, 2)

    plain, other = Sampler(), Sampler()
    compiled = compiled_by("eager", lambda x: other.draw(x), fullgraph=True)
    for _ in range(3):
        assert is_same(compiled(t.ones(2)), plain.draw(t.ones(2)))


def test_a_generator_that_is_given_back():
    def program(x):
        own = random.Random(4)
        return x * own.random(), own

    _, expected = program(t.ones(2))
    compiled = compiled_by("eager", program, fullgraph=True)
    for _ in range(2):
        _, own = compiled(t.ones(2))
        assert own.getstate() == expected.getstate()


def test_random_numbers_of_a_program_that_raises():
    compiled = compiled_by("eager", draws_before_an_error)
    for function in (draws_before_an_error, compiled, compiled):
        random.seed(2)
        with pytest.raises(RuntimeError):
            function(t.ones(2, 3))
        after = random.random()
        random.seed(2)
        random.random(), random.randint(2, 2)
        assert after == random.random()


# ---- others ----


def test_stack_traces_list_the_frames_of_the_program():
    def inner(x):
        return x.relu()

    def outer(x):
        return inner(x) + 1

    seen = []

    def backend(gm, inputs):
        seen.extend(node for node in gm.graph.nodes if node.op.startswith("call"))
        return gm

    t.compile(outer, backend=backend)(t.ones(2))
    lines = seen[0].stack_trace.splitlines()
    assert [line.strip() for line in lines[1::2]] == ["return inner(x) + 1", "return x.relu()"]
    assert lines[0].endswith("in outer") and lines[2].endswith("in inner")
    assert seen[0].stack_trace.endswith("\n")
    assert len(seen[1].stack_trace.splitlines()) == 2


@typing.runtime_checkable
class Named(typing.Protocol):
    name: str

    def shown(self): ...


class Shown:
    def shown(self):
        return "shown"


def test_protocols_ask_for_names():
    def program(x, one):
        return x + 1 if isinstance(one, (int, Named)) else x - 1

    compiled = compiled_by("eager", program, fullgraph=True)
    one = Shown()
    assert is_same(compiled(t.ones(2), one), t.zeros(2))
    one.name = "one"
    assert is_same(compiled(t.ones(2), one), t.full((2,), 2.0))
    del one.name
    assert is_same(compiled(t.ones(2), one), t.zeros(2))


def test_single_dispatch_sees_what_is_registered():
    @functools.singledispatch
    def size(value):
        return 1

    def program(x, value):
        return x * size(value)

    compiled = compiled_by("eager", program, fullgraph=True)
    assert is_same(compiled(t.ones(2), [1]), t.ones(2))
    size.register(list, lambda value: len(value) + 3)
    assert is_same(compiled(t.ones(2), [1]), t.full((2,), 4.0))
    assert is_same(compiled(t.ones(2), (1,)), t.ones(2))


@both
def test_tensors_without_dimensions_as_indices(backend):
    def program(x, n):
        y = x * 2
        y[n] = 7.0
        return y[n], y[n, 1], y[1, n], y[:, n] + x[n - 1], y

    x = t.arange(9.0).view(3, 3)
    compiled = compiled_by(backend, program, fullgraph=True)
    for n in (0, 2, -1):
        assert is_same(compiled(x, t.tensor(n)), program(x, t.tensor(n)))
    for function in (program, compiled):
        with pytest.raises(IndexError, match=r"out of bounds|out of range"):
            function(x, t.tensor(3))


def test_warnings_are_not_errors_of_functions_that_remember():
    @functools.cache
    def warned(n):
        warnings.warn("once", stacklevel=1)
        return n

    compiled = compiled_by("eager", lambda x: x * warned(2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled(t.ones(2))
    assert [str(one.message) for one in told] == ["once"]


def test_an_error_gives_pythons_random_numbers_back():
    def program(x, i):
        return x[i] * random.random()

    def drawn(function):
        random.seed(3)
        seen = []
        for i in (1, 40, 2):
            try:
                seen.append(function(t.arange(5.0), i).item())
            except IndexError:
                seen.append("no such index")
        return seen, random.random()

    assert drawn(t.compile(program)) == drawn(program)


FACTOR = 3


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_is_said_of_a_tensor_is_said_once(backend):
    def program(x, log):
        x.requires_grad_()
        log.append(x.requires_grad)
        return x * 2

    compiled = t.compile(program, backend=backend)
    for _ in range(2):
        x, log = t.ones(2), []
        assert compiled(x, log).requires_grad and x.requires_grad and log == [True]


def test_what_is_remembered_sees_what_was_written():
    @functools.lru_cache
    def scaled(n):
        return n * FACTOR

    def program(x, factor):
        global FACTOR
        FACTOR = factor
        return x * scaled(1)

    assert t.compile(program)(t.ones(1), 9).item() == 9


def endings(change):
    def make():
        log = []

        def program(x):
            held = {"list": [Ending(log, 1), Ending(log, 2)], "more": {"one": [Ending(log, 3)]}}
            y = x * 2
            change(held)
            log.append("changed")
            return y + len(held)

        return program, lambda: list(log)

    return make


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held["list"].clear(),
        lambda held: held["list"].pop(0) and None,
        lambda held: held.pop("list") and None,
        lambda held: held["list"].__setitem__(0, None),
        lambda held: held.__setitem__("list", None),
        lambda held: held["more"]["one"].clear(),
        lambda held: held["more"].clear(),
        lambda held: held.update(list=[]),
    ],
)
def test_objects_in_containers_end_when_they_leave(change):
    as_plainly(endings(change), *[(t.ones(2),)] * 3)


def test_weak_references_see_tensors_end():
    def deleted(x):
        y = x + 1
        reference = weakref.ref(y)
        before = reference() is y
        del y
        return x * 2, before, reference() is None

    def replaced(x):
        y = x + 1
        reference = weakref.ref(y)
        y = y * 2
        return y, reference() is None

    def called(x):
        log = []
        y = x + 1
        reference = weakref.ref(y, lambda _: log.append("end"))
        z = y * 2
        del y
        log.append("behind")
        return z, log, reference() is None

    for program in (deleted, replaced, called):
        as_plainly(lambda program=program: (program, lambda: None), *[(t.ones(2),)] * 3)


# ---- breaks with values on the stack ----


def test_a_break_leaves_the_programs_containers_on_the_stack():
    def make():
        table, window = {}, collections.deque(maxlen=2)

        @compiler.disable
        def key(n):
            return ("key", n)

        def program(x, n):
            table[key(n)] = table.get(key(n), 0) + 1
            window.append(Ending([], n))
            return x * table[key(n)] + len(window)

        return program, lambda: dict(table)

    as_plainly(make, *((t.ones(2), n) for n in (2, 3, 2, 4, 5, 2)))


# ---- lists that are only added to ----


@both
def test_a_list_that_nobody_looks_into_may_grow(backend):
    class Noted(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.means = []

        def forward(self, x, log):
            self.means.append((x * 2).mean())
            log.append(("called", x.shape[0]))
            log.append(log)
            return x + 1

    model, log = Noted(), []
    compiled = compiled_by(backend, model, fullgraph=True)
    for i in range(4):
        assert is_same(compiled(t.ones(2) * i, log), t.ones(2) * i + 1)
    assert [mean.item() for mean in model.means] == [0, 2, 4, 6]
    assert len(log) == 8 and log[2] == ("called", 2) and log[7] is log
    assert counters["stats"]["unique_graphs"] == 1 and not counters["recompile"]


def test_lists_that_are_added_to_and_read():
    def make():
        shared, table = [], {"a": [], "b": [1]}
        cases = [([], [1, 2]), (shared, shared), (shared, []), (table["a"], [])]

        def program(x, case):
            one, other = cases[case]
            one.append(len(other))
            is_there = 3 in one, len(other) in one
            table["a"].append(x.shape[0])
            table["b"].append(7)
            for item in table["b"]:
                if item < 3:
                    table["b"].append(item + 1)
            return x * len(other), table["b"][-1], 7 in table["b"], is_there

        return program, lambda: ([*shared], [*table["a"]], [*table["b"]], len(cases[0][0]))

    as_plainly(make, *((t.ones(2), case) for case in (0, 1, 1, 2, 3, 0, 3)))


@both
def test_what_was_added_before_an_error_is_there_once(backend):
    log = []

    def program(x, i):
        log.append("begin")
        y = x[i]
        log.append("end")
        return y

    compiled = compiled_by(backend, program)
    for i in (1, 7, 0):
        try:
            compiled(t.ones(3), t.tensor([i]))
        except IndexError:
            log.append("error")
    assert log == ["begin", "end", "begin", "error", "begin", "end"]
