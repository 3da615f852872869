"""id() in compiled programs: memos by address, and addresses as numbers and texts."""

import dataclasses
import threading

import pytest
from compiled_case import check_changes
from under_test import t

X = t.linspace(-1, 1, 6).reshape(2, 3)
LAYER = t.nn.Linear(3, 3)


def follows(program, *calls):
    """The compiled program gives what the plain one does, without a break."""
    t.compiler.reset()
    compiled = t.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        for args in calls:
            assert compiled(*args) == program(*args)


@pytest.mark.parametrize("make", [lambda: [1], t.nn.ReLU, lambda: t.ones(2), dict])
def test_addresses_of_two_objects_are_compared_anew(make):
    a, b = make(), make()
    follows(lambda one, other: id(one) == id(other), (a, b), (a, a), (b, b), (b, a))


AS_NUMBERS = {
    "sum": lambda o: id(o) + 1,
    "text": lambda o: f"{id(o)}",
    "str": lambda o: str(id(o)),
    "hex": lambda o: hex(id(o)),
    "percent": lambda o: "%d" % id(o),
    "negative": lambda o: -id(o),
    "order": lambda o: id(o) > id(X),
    "sorted": lambda o: sorted([id(o), id(X), id(LAYER)]),
    "texts": lambda o: f"{[id(o)]}",
}


@pytest.mark.parametrize("name", AS_NUMBERS)
def test_addresses_as_numbers_are_the_programs_own(name):
    follows(AS_NUMBERS[name], *[(o,) for o in (t.ones(2), t.ones(2), [1], [1], t.nn.ReLU())])


def test_the_address_of_a_result_as_a_number():
    def program(x):
        y = x * 2
        return y, id(y) + 1

    compiled = t.compile(program, backend="eager")
    for _ in range(3):
        y, number = compiled(X)
        assert number == id(y) + 1


def test_containers_of_the_program_with_addresses():
    names = {id(p): name for name, p in LAYER.named_parameters()}
    pairs = {(id(p), "k"): name for name, p in LAYER.named_parameters()}
    some, frozen = {id(LAYER.bias)}, frozenset([id(LAYER.bias)])
    listed = [3, id(LAYER.bias)]
    other = t.nn.Linear(3, 3)

    def program(layer):
        return [
            (
                names.get(id(p)),
                (id(p), "k") in pairs,
                id(p) in some,
                id(p) in listed,
                id(p) in frozen,
            )
            for p in layer.parameters()
        ]

    follows(program, (LAYER,), (other,), (LAYER,))
    follows(lambda: [names[id(p)] for p in LAYER.parameters()], ())


def test_a_cache_by_address_is_filled():
    def program(x, cache):
        if id(x) not in cache:
            cache[id(x)] = len(cache)
        return cache[id(x)]

    compiled = t.compile(program, backend="eager", fullgraph=True)
    tensors, cache = [t.ones(2) for _ in range(3)], {}
    assert [compiled(x, cache) for x in (*tensors, *tensors)] == [0, 1, 2, 0, 1, 2]
    assert list(cache) == [id(x) for x in tensors]


def test_numbers_of_the_program_that_are_addresses():
    def program(x, number):
        return id(x) == number, number == id(x), number in {id(x)}, id(x) in [number]

    a, b = t.ones(2), t.ones(2)
    follows(program, (a, id(a)), (b, id(a)), (b, id(b)))


def test_a_memo_of_the_region_is_compiled_once():
    def total(x):
        y = x * 2
        seen, found = set(), []
        for one in (x, y, x, y):
            if id(one) not in seen:
                seen.add(id(one))
                found.append(one)
        ids = set(map(id, LAYER.parameters()))
        kept = [p for p in LAYER.parameters() if id(p) not in ids]
        return len(found), len(kept), len({id(o): o for o in (x, y, x)})

    t.compiler.reset()
    compiled = t.compile(total, backend="eager", fullgraph=True)
    compiled(X)
    with t.compiler.set_stance("fail_on_recompile"):
        for _ in range(3):
            assert compiled(t.ones(2, 3)) == (2, 0, 2)


def test_an_object_that_is_replaced():
    class Holder:
        module = LAYER

    holder, names = Holder(), {id(LAYER): 2}
    check_changes(
        lambda x: x * names.get(id(holder.module), 1),
        [lambda: setattr(holder, "module", t.nn.ReLU())],
        X,
    )


def test_an_object_that_was_made_in_sets_that_were_empty():
    seen, order = set(), []

    def program(x):
        made = [x]
        found = [id(made) in seen, (id(made), 1) in order]
        seen.add(id(made))
        order.append((id(made), 1))
        found += [id(made) in seen, (id(made), 1) in order, id([x]) in seen]
        seen.discard(id(made))
        order.clear()
        return found

    follows(program, (X,), (LAYER.weight,))
    assert not seen and not order


def test_an_address_that_a_set_keeps():
    seen, kept = set(), []

    def program(x):
        made = [1]
        kept.append(made)
        seen.add(id(made))
        return x + 1

    t.compile(program, backend="eager", fullgraph=True)(X)
    assert seen == {id(kept[0])}
    t.compile(program, backend="eager")(X)
    assert seen == {id(made) for made in kept}


@dataclasses.dataclass
class Part:
    size: int = 1
    inner: object = None


def test_texts_of_data_classes():
    outside = Part(3)

    def program(x):
        part = Part(2, Part())
        itself = Part()
        itself.inner = [itself]
        return repr(part), f"{itself} {outside}"

    follows(program, (X,))


def test_the_number_of_the_thread():
    compiled = t.compile(lambda x: (x + 1, threading.get_ident()), backend="eager", fullgraph=True)
    found = []

    def run():
        for _ in range(2):
            found.append(compiled(X)[1] == threading.get_ident())

    for _ in range(2):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        run()
    assert found == [True] * 8
