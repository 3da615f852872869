"""Random programs of Python and tensors, run plainly and compiled: results, writes and errors agree.

    compile_fuzz.py --first 0 --count 1000 [--backend inductor] [--jobs 2]

A program is made from its number, so a number that differs can be looked at with --show.
"""

import argparse
import concurrent.futures
import copy
import multiprocessing
import random
import sys
import traceback
import warnings

from under_test import t

HEADER = """
class Box:
    scale = 2

    def __init__(self, value):
        self.value = value
        self.count = 0

    @property
    def double(self):
        return self.value * 2

    def bump(self, by=1):
        self.count += by
        return self.count

    def __add__(self, other):
        return Box(self.value + getattr(other, "value", other))

    def __len__(self):
        return 2 + self.count


def hidden(value):
    LOG.append("hidden")
    return value


GLOBALS = {"a": 1, "b": [1, 2]}
LIMIT = 3
"""


class Writer:
    """Writes one function, statement by statement; every name it uses was given a value."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.tensors = ["x", "y"]
        self.ints = ["n"]
        self.lists = ["items"]
        self.boxes = ["box"]
        self.dicts = ["table"]
        self.functions = []
        self.number = 0
        self.depth = 1
        self.in_loop = 0

    def fresh(self, letter):
        self.number += 1
        return f"{letter}{self.number}"

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def pick(self, names):
        return self.random.choice(names)

    # ---- expressions ----
    def integer(self, depth=0):
        r = self.random
        choices = [
            lambda: str(r.randint(-2, 4)),
            lambda: self.pick(self.ints),
            lambda: f"len({self.pick(self.lists)})",
            lambda: f"{self.pick(self.tensors)}.shape[{r.choice((0, -1))}]",
            lambda: f"{self.pick(self.boxes)}.count",
            lambda: f"len({self.pick(self.boxes)})",
            lambda: "LIMIT",
            lambda: 'GLOBALS["a"]',
            lambda: f"{self.pick(self.dicts)}.get({r.choice(('1', repr('k')))}, 2)",
        ]
        if depth < 2:
            sub = lambda: self.integer(depth + 1)
            choices += [
                lambda: f"({sub()} {r.choice('+-*')} {sub()})",
                lambda: f"max({sub()}, {sub()})",
                lambda: f"abs({sub()})",
                lambda: f"({sub()} if {self.condition(depth + 1)} else {sub()})",
                lambda: f"sum([{sub()}, {sub()}])",
                lambda: f"{self.pick(self.boxes)}.bump({sub()})",
            ]
        return r.choice(choices)()

    def condition(self, depth=0):
        r = self.random
        choices = [
            lambda: (
                f"{self.integer(depth + 1)} {r.choice(('<', '>', '==', '!='))} {self.integer(depth + 1)}"
            ),
            lambda: f"{self.pick(self.ints)} % 2 == 0",
            lambda: f"{self.pick(self.lists)}",
            lambda: f"1 in {self.pick(self.dicts)}",
            lambda: f"isinstance({self.pick(self.tensors + self.ints)}, int)",
            lambda: f"{self.pick(self.tensors)} is {self.pick(self.tensors)}",
            lambda: f"not ({self.integer(depth + 1)} < 2)",
        ]
        if r.random() < 0.08:
            return f"{self.pick(self.tensors)}.sum() > 0"
        return r.choice(choices)()

    def tensor(self, depth=0):
        r = self.random
        choices = [
            lambda: self.pick(self.tensors),
            lambda: f"{self.pick(self.boxes)}.value",
            lambda: f"{self.pick(self.boxes)}.double",
        ]
        if depth < 3:
            sub = lambda: self.tensor(depth + 1)
            choices += [
                lambda: f"({sub()} {r.choice('+-*')} {sub()})",
                lambda: f"({sub()} {r.choice('+-*')} {self.integer(1)})",
                lambda: f"t.relu({sub()})",
                lambda: f"{sub()}.abs()",
                lambda: f"t.where({sub()} > 0, {sub()}, {sub()})",
                lambda: f"{sub()}.clone()",
                lambda: f"sum([{sub()}, {sub()}])",
                lambda: f"hidden({sub()})" if r.random() < 0.2 else sub(),
                lambda: f"t.cat([{sub()}[:1], {sub()}[1:]])",
                lambda: f"{sub()}.roll(1, 0)",
            ]
            if self.functions:
                choices.append(lambda: f"{self.pick(self.functions)}({sub()})")
        return r.choice(choices)()

    # ---- statements ----
    def statement(self):
        r = self.random
        makers = [
            (6, self.assign_tensor),
            (3, self.assign_integer),
            (2, self.write_tensor),
            (2, self.write_box),
            (2, self.write_list),
            (2, self.write_dict),
            (2, self.branch),
            (2, self.loop),
            (1, self.function),
            (1, self.guarded),
            (1, self.log),
            (1, self.unpack),
            (1, self.comprehension),
            (1, self.new_box),
            (1, self.write_global),
            (1, self.scope),
        ]
        if self.in_loop:
            makers.append((1, self.leave))
        if self.depth > 3:
            makers = makers[:6]
        r.choices([m for _, m in makers], [w for w, _ in makers])[0]()

    def block(self):
        self.depth += 1
        kept = [
            list(names)
            for names in (
                self.tensors,
                self.ints,
                self.lists,
                self.boxes,
                self.dicts,
                self.functions,
            )
        ]
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        (
            self.tensors,
            self.ints,
            self.lists,
            self.boxes,
            self.dicts,
            self.functions,
        ) = kept
        self.depth -= 1

    def assign_tensor(self):
        value = self.tensor()
        name = self.fresh("v") if self.random.random() < 0.7 else self.pick(self.tensors)
        self.emit(f"{name} = {value}")
        if name not in self.tensors:
            self.tensors.append(name)

    def assign_integer(self):
        value = self.integer()
        name = self.fresh("i") if self.random.random() < 0.7 else self.pick(self.ints)
        self.emit(f"{name} = min(9, max(-9, {value}))")
        if name not in self.ints:
            self.ints.append(name)

    def write_tensor(self):
        name = self.fresh("w")
        self.emit(f"{name} = {self.tensor()}.clone()")
        self.tensors.append(name)
        how = self.random.choice(
            (f"{name}[0] = {self.integer(1)}", f"{name} += {self.integer(1)}", f"{name}.mul_(2)")
        )
        self.emit(how)

    def write_box(self):
        box = self.pick(self.boxes)
        self.emit(
            self.random.choice(
                (
                    f"{box}.value = {self.tensor()}",
                    f"{box}.count += 1",
                    f"{box}.extra = {self.integer()}",
                    f"{box}.bump()",
                )
            )
        )

    def write_list(self):
        items = self.pick(self.lists)
        self.emit(
            self.random.choice(
                (
                    f"{items}.append({self.integer()})",
                    f"{items}.append({self.tensor()})",
                    f"{items}.insert(0, {self.integer()})",
                    f"{items} += [{self.integer()}]",
                    f"{items}[-1:] = [{self.integer()}, 1]",
                )
            )
        )

    def write_dict(self):
        table = self.pick(self.dicts)
        key = self.random.choice(("1", "2", repr("k"), repr("m")))
        self.emit(
            self.random.choice(
                (
                    f"{table}[{key}] = {self.integer()}",
                    f"{table}.pop({key}, None)",
                    f"{table}.setdefault({key}, {self.integer()})",
                    f"{table}.update({{{key}: {self.integer()}}})",
                )
            )
        )

    def branch(self):
        self.emit(f"if {self.condition()}:")
        self.block()
        if self.random.random() < 0.5:
            self.emit("else:")
            self.block()

    def loop(self):
        name = self.fresh("j")
        what = self.random.choice(
            (
                f"range({self.random.randint(1, 3)})",
                f"enumerate({self.pick(self.lists)}[:2])",
                f"list({self.pick(self.dicts)})[:2]",
            )
        )
        if what.startswith("enumerate"):
            self.emit(f"for {name}, _ in {what}:")
        elif what.startswith("list"):
            self.emit(f"for {name}, _ in enumerate({what}):")
        else:
            self.emit(f"for {name} in {what}:")
        self.ints.append(name)
        self.in_loop += 1
        self.block()
        self.in_loop -= 1
        self.ints.remove(name)

    def leave(self):
        self.emit(f"if {self.condition()}:")
        self.emit("    " + self.random.choice(("break", "continue")))

    def function(self):
        name = self.fresh("f")
        kept = self.tensors, self.ints, self.in_loop
        parameter = self.fresh("p")
        captured = self.pick(self.ints)
        self.emit(f"def {name}({parameter}, k={self.random.randint(1, 3)}):")
        self.depth += 1
        if self.random.random() < 0.3 and captured.startswith("i"):
            self.emit(f"nonlocal {captured}") if self.depth > 2 else None
            if self.depth > 2:
                self.emit(f"{captured} += 1")
        self.tensors, self.ints, self.in_loop = [parameter, *kept[0][:1]], ["k", captured], 0
        for _ in range(self.random.randint(0, 2)):
            self.random.choice((self.assign_tensor, self.log, self.write_box))()
        self.emit(f"return {self.tensor(1)}")
        self.depth -= 1
        self.tensors, self.ints, self.in_loop = kept
        self.functions.append(name)

    def guarded(self):
        self.emit("try:")
        self.depth += 1
        self.random.choice((self.assign_integer, self.write_list, self.log))()
        if self.random.random() < 0.6:
            self.emit(f"if {self.condition()}:")
            error = self.random.choice(("KeyError", "ValueError"))
            self.emit(f"    raise {error}({self.integer(1)})")
        self.depth -= 1
        self.emit("except KeyError as error:")
        self.emit("    LOG.append(str(error))")
        if self.random.random() < 0.4:
            self.emit("finally:")
            self.emit("    LOG.append('finally')")

    def log(self):
        self.emit(f"LOG.append({self.integer()})")

    def unpack(self):
        a, b = self.fresh("v"), self.fresh("v")
        self.emit(f"{a}, {b} = {self.tensor()}, {self.tensor()}")
        self.tensors += [a, b]

    def comprehension(self):
        name = self.fresh("l")
        item = "hidden(c)" if self.random.random() < 0.2 else "c"
        self.emit(
            f"{name} = [{self.integer(1)} + {item} for c in range(3) if c != {self.integer(1)}]"
        )
        self.lists.append(name)

    def new_box(self):
        name = self.fresh("b")
        self.emit(f"{name} = Box({self.tensor()})")
        self.boxes.append(name)

    def write_global(self):
        self.emit(f'GLOBALS["a"] = {self.integer(1)} % 5')

    def scope(self):
        self.emit("with t.no_grad():")
        self.block()

    def program(self):
        for _ in range(self.random.randint(3, 9)):
            self.statement()
        results = ", ".join(
            [
                self.pick(self.tensors),
                self.pick(self.tensors),
                self.pick(self.ints),
                self.pick(self.boxes),
                self.pick(self.lists),
            ]
        )
        self.emit(f"return {results}")
        body = "\n".join(self.lines)
        return f"{HEADER}\ndef program(x, y, n, items, box, table):\n{body}\n"


def namespace(source, number):
    names = {"t": t, "LOG": [], "__name__": "fuzzed"}
    exec(compile(source, f"<program {number}>", "exec"), names)
    return names


def arguments(names, variant):
    t.manual_seed(variant)
    rows = 2 + variant % 2
    box = names["Box"](t.randn(rows, 3))
    return [t.randn(rows, 3), t.randn(rows, 3), 1 + variant, [1, 2], box, {1: 2}]


def shown(value, seen=()):
    """A value as something that compares: bits of tensors, classes and attributes of objects."""
    if isinstance(value, t.Tensor):
        return (str(value.dtype), tuple(value.shape), value.requires_grad, value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(v) for v in value]
    if isinstance(value, dict):
        return [(k, shown(v)) for k, v in value.items()]
    if type(value).__name__ == "Box":
        return shown(vars(value))
    return type(value).__name__, repr(value)


def outcome(names, function, variant):
    args = arguments(names, variant)
    names["LOG"].clear()
    try:
        result = shown(function(*args))
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)]
        result = type(error).__name__, str(error), lines[-1]
    return result, shown(args[3:]), shown(names["LOG"]), shown(names["GLOBALS"])


def first_difference(a, b):
    """The two texts around the place where they part."""
    at = next((i for i, (p, q) in enumerate(zip(a, b)) if p != q), min(len(a), len(b)))
    part = slice(max(0, at - 60), at + 60)
    return f"  plainly  {a[part]}\n  compiled {b[part]}"


def differs(number, backend):
    """What differs for a program; None where nothing does."""
    source = Writer(number).program()
    plain, own = namespace(source, number), namespace(source, number)
    compiled = t.compile(own["program"], backend=backend)
    for variant in (0, 0, 1, 2, 0):
        plain["GLOBALS"] |= copy.deepcopy({"a": 1, "b": [1, 2]})
        own["GLOBALS"] |= copy.deepcopy({"a": 1, "b": [1, 2]})
        expected = outcome(plain, plain["program"], variant)
        got = outcome(own, compiled, variant)
        if repr(expected) != repr(got):
            return f"variant {variant}\n{first_difference(repr(expected), repr(got))}"
    return None


def run(job):
    number, backend = job
    warnings.simplefilter("ignore")
    try:
        found = differs(number, backend)
    except BaseException:
        found = traceback.format_exc()
    return number, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int)
    options = parser.parse_args()
    if options.show is not None:
        print(Writer(options.show).program())
        print(run((options.show, options.backend))[1])
        return 0
    jobs = [(options.first + i, options.backend) for i in range(options.count)]
    failures = 0
    # Unlike a Pool, which waits for good, an executor raises where a process died.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context) as pool:
        for number, found in pool.map(run, jobs, chunksize=16):
            if found is not None:
                failures += 1
                print(f"program {number}: {found}", flush=True)
    print(f"{options.count} programs, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
