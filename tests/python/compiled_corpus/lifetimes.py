"""Programs about what lives on: caches, weak references, iterators, memory that is shared."""

import collections
import functools
import importlib
import warnings
import weakref

from compiled_case import case
from under_test import NAME, t

compiler = importlib.import_module(f"{NAME}.compiler")

X = t.arange(6.0)


@compiler.disable
def apart(value):
    return value


@functools.lru_cache(maxsize=1)
def one_kept(n):
    return [n]


@case(X)
def cache_of_one_result(x):
    first = one_kept(2)
    second = one_kept(3)
    return x * second[0], one_kept(2) is first, one_kept(2) is one_kept(2)


@case(X, breaks=2)
def cache_of_a_tensor(x):
    @functools.lru_cache
    def doubled(v):
        return v * 2

    return doubled(x) + 1, doubled(x) is doubled(x)


@case(X, breaks=2)
def reference_to_a_deleted_tensor(x):
    y = x + 1
    reference = weakref.ref(y)
    before = reference() is y
    del y
    return x * 2, before, reference() is None


@case(X, breaks=2)
def reference_to_a_replaced_tensor(x):
    y = x + 1
    reference = weakref.ref(y)
    y = y * 2
    return y, reference() is None


@case(X, {}, 3, breaks=4)
def dict_written_by_a_key_from_apart(x, table, n):
    table[apart(("key", n))] = table.get(apart(("key", n)), 0) + 1
    return x * table["key", n]


@case(X, collections.deque(maxlen=2), breaks=4)
def deque_that_gets_what_comes_from_apart(x, window):
    for i in range(3):
        window.append([apart(i)])
    return x * len(window), window[0]


@case(X, breaks=8)
def dict_changed_while_it_is_read(x):
    table = {"a": 1, "b": 2, "c": 3}
    seen = []
    for value in table.values():
        seen.append(apart(value))
        table["c"] = table["c"] * 10
    return x, seen


@case(X, breaks=2)
def dict_grown_while_it_is_read(x):
    table = {"a": 1}
    for name in table:
        table[apart(name) + "b"] = x
    return table


@case(X, breaks=1)
def parts_that_meet(x):
    return x[1:].add_(x[:-1])


@case(X)
def parts_that_lie_apart(x):
    x[:3].add_(x[3:])
    return x[::2].mul_(x[1::2])


@case(X, breaks=1)
def indexed_parts_that_meet(x):
    return x[1:].index_add_(0, t.tensor([0, 1]), x[:2])


@case(X, breaks=1)
def expanded_and_masked(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x[:1].expand(3).masked_fill_(t.tensor([False, True, False]), 7.0)
    return x + 1


@case(X, t.empty(0), breaks=1)
def out_that_is_resized(x, out):
    t.mul(x, 2, out=out)
    return out + 1


@case(X, breaks=1)
def truth_of_a_number_as_a_factor(x):
    rate = apart(0.5)
    return x * (rate > 0.25)


class Plain:
    pass


@case(X, breaks=3)
def reference_to_what_is_popped(x):
    items = [Plain()]
    seen = weakref.ref(items[0])
    was_there = seen() is not None
    items.pop()
    return x + 1, was_there, seen() is None


@case(X, breaks=3)
def reference_to_what_is_popped_and_kept(x):
    items = [Plain(), Plain()]
    seen = weakref.ref(items[0])
    kept = items.pop(0)
    was_there = seen() is kept
    del kept
    return x + 1, was_there, seen() is None


@case(X, [Plain(), Plain()], breaks=2)
def reference_to_what_a_list_loses(x, items):
    seen = weakref.ref(items[0])
    items.clear()
    return x + 1, seen() is None


@case(X, breaks=3)
def reference_to_what_a_dict_loses(x):
    table = {"a": Plain(), "b": [Plain()]}
    seen = weakref.ref(table["a"]), weakref.ref(table["b"][0])
    table.pop("a")
    table["b"][0] = None
    return x + 1, [reference() is None for reference in seen]


@case(X, [Plain()])
def list_of_referenced_objects_that_grows(x, items):
    for _ in range(3):
        items.append(Plain())
    return x + len(items)


by_name = weakref.WeakValueDictionary()


@case(X, Plain(), breaks=2)
def registry_of_weak_references(x, thing):
    by_name["thing"] = thing
    found = by_name.get("thing")
    return x + len(by_name), found is thing, by_name["thing"] is thing, by_name.get("other")


@case(X, Plain(), breaks=3)
def registry_that_loses_what_a_program_made(x, thing):
    by_name["thing"] = thing
    by_name["made"] = Plain()
    found = by_name.get("made")
    del thing
    return x + 1, found is None, sorted(by_name)
