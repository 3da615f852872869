"""Programs around lists, dicts, sets, tuples and the classes of collections."""

# ruff: noqa: C406, C408

import collections
import copy
import itertools
import operator

from compiled_case import case
from under_test import t

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)


@case(X, [1, 2, 3, 4, 5])
def list_slices(x, values):
    values[1:3] = [7, 8, 9]
    del values[0]
    return x * sum(values[::2]), values[-2:], values[::-1]


@case(X, [3, 1, 2])
def list_sorted_in_place(x, values):
    values.sort(reverse=True)
    values.reverse()
    values.insert(1, 10)
    return x + values.pop(), values.index(10), values.count(1)


@case(X, [1, 2])
def list_extended_by_itself(x, values):
    values.extend(values)
    values += [x]
    values *= 2
    return len(values), values[4]


@case(X, [[1], [2]])
def list_of_lists_shared(x, rows):
    rows.append(rows[0])
    rows[0].append(5)
    return x * sum(rows[-1]), rows[0] is rows[-1]


@case(X)
def list_multiplied_shares(x):
    rows = [[]] * 3
    rows[0].append(x)
    return [len(r) for r in rows]


@case(X, [1, 2, 3])
def list_compared(x, values):
    if values == [1, 2, 3] and values < [1, 3] and [] != values:
        return x + 1
    return x


@case(X, [X, Y])
def list_of_tensors_written(x, items):
    for i, item in enumerate(items):
        items[i] = item + i
    items[0] += 1
    return items[0] + items[1]


@case(X)
def list_as_stack_and_queue(x):
    stack = [x]
    seen = 0
    while stack:
        top = stack.pop()
        seen += 1
        if seen < 4:
            stack.append(top + 1)
    return top, seen


@case(X, {"b": 1, "a": 2})
def dict_order_is_kept(x, d):
    d["c"] = 3
    d["b"] = d.pop("b")
    return list(d), x * d["a"], list(reversed(d))


@case(X, {"a": X})
def dict_updated(x, d):
    d.update(b=x + 1, c=2)
    d.update({"a": x * 3})
    d |= {"d": 4}
    return d["a"] + d["b"], sorted(d, reverse=True)


@case(X, {"a": 1})
def dict_defaults(x, d):
    return x * d.get("a") + d.get("b", 2) + d.setdefault("z", 5), d.pop("q", None)


@case(X, {"a": 1, "b": 2})
def dict_views(x, d):
    common = d.keys() & {"a", "q"}
    total = sum(d.values())
    pairs = [f"{k}={v}" for k, v in d.items()]
    return x * total, sorted(common), pairs, ("a", 1) in d.items()


@case(X, {"a": {"b": {"c": 2}}})
def dict_nested_write(x, d):
    d["a"]["b"]["c"] += 1
    d["a"]["new"] = x * 2
    return x * d["a"]["b"]["c"]


@case(X, {(1, 2): 3, "k": 4, 5: 6, None: 7, True: 8})
def dict_keys_of_many_kinds(x, d):
    return x * d[(1, 2)] + d["k"] + d[5] + d[None] + d[1]


@case(X, {"a": 1, "b": 2, "c": 3})
def dict_comprehension_filters(x, d):
    kept = {k: x * v for k, v in d.items() if v != 2}
    inverse = {v: k for k, v in d.items()}
    return kept, inverse


@case(X, {"w": X, "b": Y})
def dict_of_tensors_merged(x, params):
    return {k: v - 0.1 * x for k, v in params.items()} | {"new": x}


@case(X, {"a": 1})
def dict_popitem_and_clear(x, d):
    key, value = d.popitem()
    d[key + "2"] = value
    e = dict(d)
    d.clear()
    return x * e["a2"], len(d)


@case(X)
def dict_constructors(x):
    a = dict(p=1, q=2)
    b = dict([("p", 3)])
    c = dict(zip("xy", (4, 5)))
    d = dict.fromkeys(["m", "n"], 6)
    return x * (a["q"] + b["p"] + c["y"] + d["n"])


@case(X, {1, 2, 3})
def set_algebra(x, s):
    s.add(4)
    s.discard(1)
    s.update([7])
    u = s | {9}
    return x * len(u), sorted(s & {2, 3}), sorted(s ^ {2}), s <= u, s.isdisjoint({100})


@case(X)
def set_removes_duplicates(x):
    shapes = {tuple(v.shape) for v in (x, x + 1, x[0])}
    return len(shapes), (4, 3) in shapes


@case(X, (1, (2, [3])))
def tuples_nested(x, p):
    a, (b, [c]) = p
    p[1][1].append(4)
    return x * (a + b + c), p + (5,), p * 2


@case(X)
def tuple_swaps(x):
    a, b, c = x, x + 1, x + 2
    a, b, c = c, a, b
    return a - b + c


@case(X, collections.OrderedDict(a=1, b=2, c=3))
def ordered_dict_moves(x, d):
    d.move_to_end("a")
    first = d.popitem(last=False)
    return x * d["a"], first, list(d)


@case(X)
def ordered_dict_made(x):
    d = collections.OrderedDict()
    d["z"] = x
    d["a"] = x * 2
    return list(d.items()), d == collections.OrderedDict(d)


@case(X)
def default_dict_groups(x):
    groups = collections.defaultdict(list)
    for i in range(6):
        groups[i % 3].append(x + i)
    return {k: sum(v) for k, v in groups.items()}


@case(X)
def default_dict_of_dicts(x):
    table = collections.defaultdict(lambda: collections.defaultdict(int))
    table["a"]["b"] += 2
    table["a"]["c"] += 3
    return x * sum(table["a"].values()), "z" in table


@case(X)
def deque_rotates(x):
    q = collections.deque([1, 2, 3], maxlen=3)
    q.rotate(1)
    q.append(9)
    q.extendleft([5])
    return x * q[0], list(q), q.count(9)


@case(X)
def deque_as_window(x):
    window = collections.deque(maxlen=2)
    out = []
    for i in range(4):
        window.append(x + i)
        out.append(sum(window) / len(window))
    return out


@case(X)
def counter_counts(x):
    c = collections.Counter(["a", "b", "a"])
    c.update(["b", "b"])
    return x * c["b"], dict(c), sum(c.values())


@case(X)
def chain_map_reads(x):
    m = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    return x * m["a"] + m["b"]


@case(X, [X, Y])
def copies_are_separate(x, items):
    shallow = copy.copy(items)
    shallow.append(x)
    deep = copy.deepcopy({"a": [1, 2]})
    deep["a"].append(3)
    return len(items), len(shallow), deep


@case(X)
def nested_comprehensions(x):
    grid = [[x * (i * j) for j in range(3)] for i in range(2)]
    flat = [v for row in grid for v in row if v is not None]
    return t.stack(flat).sum(0)


@case(X, ["b", "a", "c"])
def sorted_by_key_and_max(x, names):
    table = {"a": 3, "b": 1, "c": 2}
    order = sorted(names, key=table.get)
    return x * table[max(names, key=table.__getitem__)], order, min(table, key=table.get)


@case(X)
def any_all_with_generators(x):
    sizes = [s > 2 for s in x.shape]
    return any(sizes), all(s == 4 for s in x.shape), x + (1 if all(sizes) else 2)


@case(X)
def operator_getters(x):
    pick = operator.itemgetter(1)
    shape = operator.attrgetter("shape")
    scale = operator.methodcaller("mul", 3)
    return pick([x, x + 1]) * shape(x)[0] + scale(x)


@case(X, [4, 5, 6])
def enumerate_from_start(x, values):
    out = 0
    for i, v in enumerate(values, start=2):
        out = out + x * i * v
    return out


@case(X)
def zip_longest_and_strict(x):
    pairs = list(itertools.zip_longest([1, 2, 3], [4], fillvalue=0))
    try:
        list(zip([1], [2, 3], strict=True))
    except ValueError as error:
        return x + len(pairs), str(error)


@case(X)
def groups_of_equal(x):
    runs = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2, 2, 2])]
    return x * runs[1][1], runs


class Registry(dict):
    """A dict with a method of its own."""

    def register(self, name, value):
        self[name] = value
        return self


@case(X, Registry(a=1))
def dict_subclass(x, registry):
    registry.register("b", 2).register("c", x)
    return x * registry["b"], len(registry)


class Stack(list):
    """A list with names of its own."""

    def push(self, value):
        self.append(value)

    @property
    def top(self):
        return self[-1]


@case(X)
def list_subclass(x):
    s = Stack()
    s.push(x)
    s.push(x * 2)
    return s.top + s[0], len(s), isinstance(s, list)


class Missing(dict):
    """A dict that makes what it does not hold."""

    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


@case(X, Missing())
def dict_with_missing(x, d):
    return x * (d["a"] + d["b"] + d["a"]), list(d)


@case(X, [1, 2, 3])
def remove_while_copying(x, values):
    for v in list(values):
        if v % 2:
            values.remove(v)
    return x * len(values)


@case(X, {"a": [1]})
def dict_aliases_seen_twice(x, d):
    alias = d["a"]
    d["b"] = alias
    alias.append(2)
    return x * len(d["b"]), d["a"] is d["b"]


@case(X)
def bytes_and_ranges(x):
    data = bytes([1, 2, 3])
    r = range(10, 0, -3)
    return x * data[1], list(r), len(r), 7 in r, r[1]


class Row(tuple):
    """A tuple of a class of its own."""

    __slots__ = ()


@case(X, [X, 1])
def list_subclass_from_given(x, items):
    s = Stack(items)
    return s, len(s), x + 1


@case(X, {"a": X})
def dict_subclass_from_given(x, table):
    r = Registry(table)
    return r, x + len(r)


@case(X, [3, 4])
def tuple_subclass_from_given(x, items):
    r = Row(items)
    return x * len(r), r, isinstance(r, tuple)


@case(X, [1, 2], (3, 4), {5: 6})
def containers_from_containers(x, a, b, c):
    return x, list(b), tuple(a), set(b), dict(c), frozenset(a), list(c), sorted(set(a) | set(b))
