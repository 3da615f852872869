"""Functions of the standard library that work on objects: containers, classes, calls, programs."""

import _collections_abc
import _weakrefset
import abc
import argparse
import cmd
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import graphlib
import inspect
import io
import logging
import operator
import pprint
import queue
import reprlib
import sched
import sys
import traceback
import types
import typing
import unittest
import unittest.mock
import weakref

from frames_corpus import over


@over(argparse.ArgumentParser._parse_known_args)
def case_argparse(p):
    parser = argparse.ArgumentParser(prog="t", add_help=False)
    parser.add_argument("name")
    parser.add_argument("-n", "--number", type=int, default=3)
    parser.add_argument("--flag", action="store_true")
    parser.add_argument("rest", nargs="*")
    return sorted(vars(parser.parse_args(["a", "x", "y", "-n", "5", "--flag"])).items())


@over(argparse.ArgumentParser._get_values, argparse.ArgumentParser._check_value)
def case_argparse_errors(p):
    parser = argparse.ArgumentParser(prog="t", exit_on_error=False)
    parser.add_argument("--n", type=int)
    parser.add_argument("--c", choices=["a", "b"])
    out = []
    for args in (["--n", "x"], ["--c", "z"], ["--n", "1", "--c", "a"]):
        try:
            out.append(sorted(vars(parser.parse_args(args)).items()))
        except argparse.ArgumentError as error:
            out.append(error.argument_name)
    return out


@over(copy.deepcopy, copy._deepcopy_dict, copy._deepcopy_list, copy._reconstruct)
def case_deepcopy(p):
    class Node:
        def __init__(self):
            self.items = [1, {"k": (2, [3])}]
            self.me = self

    node = Node()
    clone = copy.deepcopy(node)
    clone.items[1]["k"][1].append(4)
    return node.items, clone.items, clone.me is clone


@over(copy.copy)
def case_copy_hooks(p):
    class A:
        def __copy__(self):
            p.log("copy")
            return "copied"

        def __deepcopy__(self, memo):
            p.log("deep")
            return "deep"

    data = [A()]
    return copy.copy(A()), copy.deepcopy(data), copy.copy(data) == data, copy.copy({1: 2})


@over(
    pprint.PrettyPrinter._format, pprint.PrettyPrinter._pprint_dict, pprint.PrettyPrinter._safe_repr
)
def case_pprint(p):
    data = {"b": list(range(12)), "a": {"x": ("long text " * 3,), "y": {1, 2}}}
    return pprint.pformat(data, width=30), pprint.pformat([1, [2, [3]]], depth=2)


@over(reprlib.Repr.repr1, reprlib.Repr._repr_iterable, reprlib.recursive_repr)
def case_reprlib(p):
    class Loop:
        @reprlib.recursive_repr("<again>")
        def __repr__(self):
            return f"Loop({self!r})"

    return reprlib.repr(list(range(20))), reprlib.repr({"k" * 40: 1}), repr(Loop())


@over(dataclasses._process_class, dataclasses._get_field)
def case_dataclass_processing(p):
    @dataclasses.dataclass(kw_only=True, unsafe_hash=True)
    class A:
        x: int
        y: typing.ClassVar[int] = 1
        z: "list" = dataclasses.field(default_factory=list, hash=False)

    try:

        @dataclasses.dataclass
        class B:
            a: int = 1
            b: str

    except TypeError as error:
        p.log(str(error)[:30])
    return [f.name for f in dataclasses.fields(A)], A(x=1).z, dataclasses.asdict(A(x=2))


@over(dataclasses._asdict_inner, dataclasses.replace, dataclasses.make_dataclass)
def case_dataclass_helpers(p):
    made = dataclasses.make_dataclass(
        "Made", [("x", int), ("y", list, dataclasses.field(default=None))]
    )
    value = made(made(1, [2]), {"k": made(3)})
    return (
        dataclasses.asdict(value),
        dataclasses.astuple(value),
        dataclasses.replace(made(5), x=6).x,
    )


@over(enum.EnumType.__call__, enum.Enum.__new__, enum.EnumType.__getitem__)
def case_enum_lookup(p):
    class Day(enum.IntEnum):
        MON = 1
        TUE = 2

        @classmethod
        def _missing_(cls, value):
            p.log("missing", value)
            return cls.MON if value == "first" else None

    try:
        Day(9)
    except ValueError as error:
        p.log(str(error).split(".")[-1])
    return Day("first").name, Day(2) + 1, Day["TUE"].value, list(Day) == [1, 2]


@over(functools.update_wrapper, functools._make_key)
def case_functools_wrapping(p):
    @functools.lru_cache(None, typed=True)
    def f(x, y=1):
        """Doc."""
        p.log(x)
        return x

    key = functools._make_key((1,), {"a": 2}, True)
    return f(1), f(1.0), f(1), f.__doc__, len(key)


@over(functools.singledispatchmethod.__get__, functools._find_impl, functools._compose_mro)
def case_functools_dispatch(p):
    class Shower:
        @functools.singledispatchmethod
        def show(self, x):
            return "object"

        @show.register
        def _(self, x: collections.abc.Sequence):
            return "sequence"

        @show.register
        def _(self, x: int):
            return "int"

    s = Shower()
    return s.show(1), s.show([1]), s.show(None), s.show("a")


@over(functools.lru_cache)
def case_functools_lru_cache(p):
    @functools.lru_cache
    def f(x):
        return x

    @functools.lru_cache(maxsize=-1)
    def g(x):
        return x

    try:
        functools.lru_cache("wrong")
    except TypeError as error:
        return f(1), g(2), f.cache_parameters()["maxsize"], str(error)


@over(contextlib.ExitStack.__exit__, contextlib._BaseExitStack.enter_context)
def case_contextlib_stack(p):
    @contextlib.contextmanager
    def named(name):
        try:
            yield name
        except KeyError as error:
            p.log(name, repr(error), repr(error.__context__))
            raise ValueError(name) from error

    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(IndexError))
            stack.enter_context(named("a"))
            stack.callback(p.log, "callback")
            raise KeyError("body")
    except ValueError as error:
        return repr(error), repr(error.__cause__)


@over(
    collections.ChainMap.__getitem__,
    collections.ChainMap.new_child,
    collections.ChainMap.__missing__,
)
def case_chain_map(p):
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    child = chain.new_child({"c": 4})
    child["b"] = 5
    try:
        chain["z"]
    except KeyError as error:
        p.log(repr(error))
    return child["a"], child["b"], chain["b"], sorted(child), child.parents == chain, len(child)


@over(
    collections.UserDict.__init__,
    collections.UserDict.__getitem__,
    collections.abc.MutableMapping.update,
)
def case_user_dict(p):
    class Lower(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key.lower(), value)

        def __missing__(self, key):
            return f"no {key}"

    d = Lower({"A": 1}, B=2)
    d.update(C=3)
    return d["a"], d["zz"], sorted(d.items()), d.pop("b"), d | {"q": 1}, d.setdefault("w", 9)


@over(
    collections.UserList.__add__,
    collections.UserString.__contains__,
    collections.UserList.__getitem__,
)
def case_user_sequences(p):
    u = collections.UserList([3, 1]) + [2]
    u.sort()
    s = collections.UserString("abc")
    return u, u[1:], 2 in u, s.upper(), "b" in s, s + "d", s[::-1]


@over(collections.Counter.update, collections.Counter.__sub__, collections.Counter.__iand__)
def case_counter_arithmetic(p):
    a = collections.Counter(x=3, y=1)
    b = collections.Counter("xyy")
    a.update(["x", "z"])
    c = a.copy()
    c &= b
    return a - b, a | b, c, sorted(b.elements()), a.total(), a >= b, +collections.Counter(q=-1)


@over(collections.namedtuple)
def case_namedtuple_making(p):
    made = collections.namedtuple("Made", ["a", "class", "a"], rename=True)
    try:
        collections.namedtuple("Bad", "1x")
    except ValueError as error:
        p.log(str(error))
    return made._fields, made(1, 2, 3)


@over(
    _collections_abc.Sequence.index,
    _collections_abc.Set.__and__,
    _collections_abc.Set._from_iterable,
)
def case_collection_mixins(p):
    class Letters(collections.abc.Sequence):
        def __getitem__(self, i):
            return "abc"[i]

        def __len__(self):
            return 3

    class Bag(collections.abc.Set):
        def __init__(self, items):
            self.items = sorted(set(items))

        def __iter__(self):
            return iter(self.items)

        def __contains__(self, x):
            return x in self.items

        def __len__(self):
            return len(self.items)

    x = Bag("abc") & Bag("bcd")
    return (
        Letters().index("b"),
        list(reversed(Letters())),
        list(x),
        list(Bag("a") | Bag("b")),
        x <= Bag("bc"),
    )


@over(abc.ABCMeta.__instancecheck__, abc.ABCMeta.register, abc.update_abstractmethods)
def case_abc(p):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        @classmethod
        def __subclasshook__(cls, other):
            return True if hasattr(other, "area") else NotImplemented

    class Duck:
        area = 1

    class Registered:
        pass

    Shape.register(Registered)
    abc.update_abstractmethods(Shape)
    return isinstance(Duck(), Shape), issubclass(Registered, Shape), isinstance(5, Shape)


@over(inspect._signature_from_function, inspect.Signature._bind, inspect.Parameter.__str__)
def case_inspect_binding(p):
    def f(a, /, b, *args, c: int = 3, **kw):
        return a

    signature = inspect.signature(f)
    bound = signature.bind(1, 2, 3, c=4, z=5)
    try:
        signature.bind(1)
    except TypeError as error:
        p.log(str(error))
    return str(signature), bound.args, bound.kwargs, str(inspect.signature(functools.partial(f, 1)))


@over(inspect.getattr_static, inspect.getmembers, inspect.cleandoc, inspect.classify_class_attrs)
def case_inspect_members(p):
    class A:
        x = 1

        @property
        def y(self):
            raise KeyError

    p.log([a.kind for a in inspect.classify_class_attrs(A) if a.name in "xy"])
    members = inspect.getmembers(A, lambda v: isinstance(v, (int, property)))
    return [n for n, _ in members], inspect.getattr_static(A(), "x"), inspect.cleandoc(" a\n   b\n")


@over(
    graphlib.TopologicalSorter.prepare,
    graphlib.TopologicalSorter.get_ready,
    graphlib.TopologicalSorter.done,
)
def case_graphlib(p):
    sorter = graphlib.TopologicalSorter({"d": ["b", "c"], "b": ["a"], "c": ["a"]})
    try:
        tuple(graphlib.TopologicalSorter({1: [2], 2: [1]}).static_order())
    except graphlib.CycleError as error:
        p.log(error.args[1])
    return tuple(sorter.static_order())


@over(
    logging.Logger._log,
    logging.Logger.callHandlers,
    logging.Formatter.format,
    logging.Logger.findCaller,
)
def case_logging(p):
    out = io.StringIO()
    logger = logging.Logger("corpus", logging.INFO)
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(message)s"))
    logger.addHandler(handler)
    logger.debug("hidden")
    logger.info("%s is %d", "x", 5)
    logger.warning("plain")
    logger.removeHandler(handler)
    return out.getvalue()


@over(unittest.mock.CallableMixin._execute_mock_call, unittest.mock.NonCallableMock.__getattr__)
def case_mock(p):
    mock = unittest.mock.Mock(return_value=3)
    mock.side_effect = [1, KeyError("second")]
    first = mock("a", k=1)
    try:
        mock()
    except KeyError as error:
        p.log(repr(error))
    mock.method.return_value = 7
    return (
        first,
        mock.method(),
        mock.call_count,
        str(mock.call_args_list),
        mock.assert_any_call("a", k=1),
    )


@over(
    unittest.mock._patch.__enter__, unittest.mock._patch.__exit__, unittest.mock._patch.get_original
)
def case_mock_patch(p):
    class Target:
        value = 1

    with (
        unittest.mock.patch.object(Target, "value", 5),
        unittest.mock.patch.dict({}, {"k": 1}) as d,
    ):
        inside = Target.value, d
    return inside, Target.value


@over(unittest.TestCase.run, unittest.case._Outcome.testPartExecutor)
def case_unittest(p):
    class Tests(unittest.TestCase):
        def test_good(self):
            self.assertEqual(1, 1)

        def test_bad(self):
            with self.assertRaises(KeyError):
                p.log("body")

        def test_sub(self):
            for i in range(2):
                with self.subTest(i=i):
                    self.assertEqual(i, 0)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
    return result.testsRun, len(result.failures), len(result.errors)


@over(typing.get_type_hints, typing._eval_type)
def case_typing_hints(p):
    class A:
        x: "int"
        y: "list[A]" = None

    def f(a: "int", b: typing.Optional["str"] = None) -> "None": ...

    return sorted(typing.get_type_hints(A, localns={"A": A})), typing.get_type_hints(f)


@over(
    typing.get_args,
    typing.get_origin,
    typing._GenericAlias.__getitem__,
    typing._remove_dups_flatten,
)
def case_typing_aliases(p):
    t = typing.TypeVar("t")
    alias = typing.Dict[str, typing.List[t]]
    return (
        str(alias[int]),
        typing.get_origin(alias),
        str(typing.Union[int, t, int]),
        typing.get_args(typing.Callable[[int], str]),
    )


@over(typing._ProtocolMeta.__instancecheck__)
def case_typing_protocol(p):
    @typing.runtime_checkable
    class Closable(typing.Protocol):
        def close(self): ...

    class Door:
        def close(self):
            return 1

    return isinstance(Door(), Closable), isinstance(5, Closable), issubclass(Door, Closable)


@over(
    weakref.WeakValueDictionary.__getitem__,
    weakref.WeakKeyDictionary.__setitem__,
    weakref.WeakValueDictionary.items,
)
def case_weak_dictionaries(p):
    class Key:
        pass

    a, b = Key(), Key()
    values, keys = weakref.WeakValueDictionary(a=a, b=b), weakref.WeakKeyDictionary()
    keys[a], keys[b] = 1, 2
    before = sorted(values), len(keys), values["a"] is a
    del b
    return (
        before,
        sorted(values),
        list(keys.values()),
        values.get("b", "gone"),
        len(list(values.items())),
    )


@over(_weakrefset.WeakSet.add, _weakrefset.WeakSet.__iter__, _weakrefset.WeakSet.discard)
def case_weak_set(p):
    class Item:
        pass

    a, b = Item(), Item()
    s = weakref.WeakSet([a, b])
    with contextlib.suppress(KeyError):
        s.remove(Item())
    del a
    s.discard(Item())
    return len(s), b in s, len([x for x in s])


@over(weakref.finalize.__call__, weakref.WeakMethod.__new__, weakref.WeakMethod.__call__)
def case_weak_methods(p):
    class A:
        def m(self):
            return "m"

    a = A()
    method = weakref.WeakMethod(a.m)
    finalizer = weakref.finalize(a, p.log, "gone")
    value = method()()
    del a
    return value, method(), finalizer.alive


@over(queue.Queue.put, queue.Queue.get, queue.PriorityQueue._get)
def case_queue(p):
    q = queue.PriorityQueue(maxsize=2)
    q.put(3)
    q.put(1, block=False)
    out = []
    try:
        q.put_nowait(5)
    except queue.Full:
        out.append("full")
    out += [q.get(), q.get()]
    try:
        q.get(block=False)
    except queue.Empty:
        out.append("empty")
    return out


@over(sched.scheduler.run, sched.scheduler.enterabs, sched.scheduler.cancel)
def case_sched(p):
    now = [0]

    def sleep(seconds):
        p.log("sleep", seconds)
        now[0] += seconds

    s = sched.scheduler(lambda: now[0], sleep)
    s.enter(2, 1, p.log, ("second",))
    dropped = s.enter(1, 1, p.log, ("dropped",))
    s.enterabs(1, 0, p.log, ("first",), {})
    s.cancel(dropped)
    s.run()
    return now, s.empty()


@over(cmd.Cmd.onecmd, cmd.Cmd.parseline, cmd.Cmd.cmdloop)
def case_cmd(p):
    class Shell(cmd.Cmd):
        use_rawinput = False
        prompt = ""

        def do_add(self, line):
            p.log(sum(map(int, line.split())))

        def do_quit(self, line):
            return True

        def default(self, line):
            p.log("unknown", line)

    Shell(stdin=io.StringIO("add 1 2\n?nothing\nwhat\nquit\n"), stdout=io.StringIO()).cmdloop("hi")


@over(
    traceback.StackSummary.format,
    traceback.TracebackException.format,
    traceback.TracebackException.__init__,
)
def case_traceback_exception(p):
    try:
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("b")
    except ValueError as error:
        text = "".join(traceback.TracebackException.from_exception(error).format())
    return [line for line in text.splitlines() if not line.startswith(" ")]


@over(
    types.new_class, types.prepare_class, types.resolve_bases, types.DynamicClassAttribute.__get__
)
def case_types(p):
    class Shown:
        @types.DynamicClassAttribute
        def x(self):
            return "instance"

    p.log(Shown().x)
    made = types.new_class("Made", (list,), {}, lambda ns: ns.update(x=1))
    space = types.SimpleNamespace(a=1, b=[2])
    return made.x, made([1]), space, types.resolve_bases((int,)), operator.attrgetter("b")(space)
