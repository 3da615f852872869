#!/usr/bin/env python3
"""Random programs on families of views, plain and compiled: what is a view of what, and flags.

    python tests/python/family_fuzz.py [--first 0] [--count 1000] [--backends eager,aot_eager]

A program has a few lines over inputs that may be views of each other, and returns some of its
tensors. Of results and inputs the values, strides, shared memory, shared versions, bases, flags and
gradients must be as without compilation, and what becomes of them when the caller later says of an
input that it requires gradients. A difference is shrunk to the fewest lines that show it.
"""

import argparse
import random
import sys
import warnings

import taeda as t

BACKENDS = ("eager", "aot_eager", "inductor")
INPUTS = """
t.arange(1.0, 7.0).reshape(2, 3).clone() | t.arange(1.0, 7.0).reshape(2, 3).clone().requires_grad_()
leaf(6).reshape(2, 3) | leaf(6).reshape(2, 3).clone() | leaf(12)[6:].reshape(2, 3)
plain(12)[:6].reshape(2, 3) | plain(12)[2:8].reshape(2, 3) | base(12)[6:].reshape(2, 3)
base(12)[:6].reshape(2, 3) | base(12)[3:9].reshape(2, 3) | {a}.detach() | {a}[:1] | {a}[1:] | {a}.t()
{a} | {a}.view(-1) | t.ones(2, 3) | t.ones(2, 3).requires_grad_() | t.arange(3.0)
"""
VIEWS = """
{a}[1:] | {a}[:1] | {a}[0] | {a}.T | {a}.view(-1) | {a}.detach() | {a}.view_as({a}) | {a}.unsqueeze(0)
{a}[..., 1:] | {a}.select(-1, 0) | {a}.expand(2, *{a}.shape) | {a}.detach()[1:] | {a}.reshape(-1)
{a}[:] | {a}.unbind(0)[0] | {a}.chunk(2, -1)[0] | {a}.diagonal() | {a}.as_strided((2,), (1,)) | {a}.data
View.apply({a}) | Same.apply({a}) | {a}.squeeze(0) | {a}.clone() | {a}.narrow(0, 0, 1)
"""
VALUES = """
{a} * 2 | {a} + {b} | {a} * {b} | {a}.sin() | {a}.exp() | {a}.sum() | {a}.relu() | {b} * {a}.detach()
t.zeros(2, 3) | {a}.sum(0) | Twice.apply({a}) | {a}.sigmoid() | t.ones_like({a})
"""
WRITES = """
{a}.mul_(2) | {a}.add_({b}) | {a}.mul_({b}) | {a}[0].mul_(3) | {a}.zero_() | {a}.detach().add_(1)
{a}.copy_({b}) | {a}.sin_() | {a}.view(-1)[1:].add_(1) | {a}[...] = {b} | {a}[..., 0] = 5.0
{a}.detach().mul_({b}) | {a}.data.mul_(2) | {a}.T.mul_(2) | {a}.relu_() | {a}.add_(1)
"""
FLAGS = """
{a}.requires_grad_() | {a}.requires_grad_() | {a}.requires_grad_(False) | {a}.detach_()
{a}.requires_grad = True | {a}.t_() | {a}.unsqueeze_(0) | {a}.set_({a}.detach()) | {a}.resize_(1)
{a}.retain_grad() | {a} = {a} if {a}.requires_grad else {a} + 1 | {a} = {a} if {a}.is_leaf else {a}.sin()
"""
KINDS = ((VIEWS, 8), (VALUES, 4), (WRITES, 6), (FLAGS, 2))
SCOPES = ("t.no_grad()", "t.no_grad()", "t.enable_grad()", "t.inference_mode()")


def split(text):
    parts = [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]
    return [part for part in parts if part]


class View(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(ctx.shape) * 3


class Same(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


class Twice(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


SCOPE = {"t": t, "View": View, "Same": Same, "Twice": Twice}


class Program:
    """Lines over inputs; a line is a list of statements, under a mode where there are several."""

    def __init__(self, inputs, lines, results):
        self.inputs, self.lines, self.results = inputs, lines, results

    def text(self):
        names = ", ".join(f"v{i}" for i in range(len(self.inputs)))
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def f({names}):\n{body}    return ({''.join(r + ', ' for r in self.results)})\n"

    def function(self):
        scope = dict(SCOPE)
        exec(self.text(), scope)
        return scope["f"]

    def make_inputs(self):
        """The inputs, and the tensors that they were made of."""
        made = {}

        def family(kind):
            def of(count):
                if (kind, count) not in made:
                    whole = t.arange(1.0, count + 1) / 4
                    if kind != "plain":
                        whole.requires_grad_()
                    if kind == "base":
                        made["root", count] = whole
                        whole = whole * 1
                    made[kind, count] = whole
                return made[kind, count]

            return of

        scope = {"t": t} | {kind: family(kind) for kind in ("plain", "leaf", "base")}
        inputs = []
        for i, text in enumerate(self.inputs):
            inputs.append(eval(text, scope))
            scope[f"v{i}"] = inputs[-1]
        return inputs, list(made.values())


def names_in(line):
    return {word for word in line.replace("(", " ").replace(".", " ").split() if word[:1] == "v"}


def random_line(rng, names):
    """A statement, and the name that it gives."""
    text = rng.choices([text for text, _ in KINDS], [weight for _, weight in KINDS])[0]
    a, b = rng.choice(names), rng.choice(names)
    if rng.random() < 0.5:
        a = names[-1]
    line = rng.choice(split(text)).format(a=a, b=b)
    name = f"v{len(names)}" if text in (VIEWS, VALUES) else None
    if name:
        line = f"{name} = {line}"
    if rng.random() < 0.15:
        line = f"with {rng.choice(SCOPES)}: {line}"
    return line, name


def generate(seed):
    """A program whose lines eager operators take; at times but the last one."""
    rng = random.Random(seed)
    inputs = []
    for _ in range(rng.choice((1, 2, 2, 3))):
        choices = [text for text in split(INPUTS) if inputs or "{a}" not in text]
        inputs.append(rng.choice(choices).format(a=f"v{rng.randrange(len(inputs) or 1)}"))
    try:
        Program(inputs, [], []).make_inputs()
    except (RuntimeError, IndexError):
        inputs = ["t.ones(2, 3)", "v0[1:]"]
    names = [f"v{i}" for i in range(len(inputs))]
    program = Program(inputs, [], ["v0"])
    wanted = rng.randint(2, 8)
    for _ in range(6 * wanted):
        if len(program.lines) == wanted:
            break
        line, name = random_line(rng, names)
        longer = Program(inputs, [*program.lines, line], [name or "v0"])
        state = run(longer, longer.function(), is_short=True)
        if isinstance(state, str) and rng.random() > 0.01:
            continue
        program = longer
        if name:
            names.append(name)
        if isinstance(state, str):
            break
    program.results = rng.sample(names, min(len(names), rng.randint(1, 4)))
    return program


# ---- what is compared ----


def attempt(read):
    try:
        return read()
    except Exception as error:
        return f"{type(error).__name__}"


def numbers(x):
    if x is None:
        return None
    return [round(n, 4) for n in x.detach().clone().flatten().tolist()]


def flags(x):
    return [
        attempt(lambda: x.requires_grad),
        attempt(lambda: x.is_leaf),
        attempt(lambda: x.grad_fn is None),
        x.is_inference(),
    ]


def state_of(tensors):
    """What can be told of tensors without their history."""

    def place(x):
        return [i for i, y in enumerate(tensors) if y is x][:1]

    memory = [y.untyped_storage().data_ptr() for y in tensors]

    def look(x):
        base = attempt(lambda: None if x._base is None else place(x._base))
        own = x.untyped_storage().data_ptr()
        # What alone is there of a computed value has memory of its own.
        is_alone = memory.count(own) == 1
        return {
            "values": numbers(x),
            "look": [list(x.shape), list(x.stride()), 0 if is_alone else x.storage_offset()],
            "is": place(x),
            "base": None if is_alone else base,
            "memory": memory.index(own),
            "flags": flags(x),
        }

    return [look(x) for x in tensors]


def gradients(tensors, roots):
    """Of each tensor that requires them, and of all."""
    leaves = [x for x in roots if x.requires_grad and x.is_leaf]
    found, losses = [], []
    for x in tensors:
        if attempt(lambda x=x: x.requires_grad) is not True:
            continue

        def loss(x=x):
            return (x * (t.arange(x.numel()).reshape(x.shape) + 1.0)).sum()

        def of_one(loss=loss):
            asked = t.autograd.grad(loss(), leaves, allow_unused=True, retain_graph=True)
            return [numbers(g) for g in asked]

        found.append(attempt(of_one))
        losses.append(loss)
    if losses:
        attempted = attempt(lambda: sum(loss() for loss in losses).backward())
        found.append([attempted, [] if attempted else [numbers(x.grad) for x in leaves]])
    return found


def versions(tensors):
    """Which tensors count the writes to each."""
    rows = []
    for x in tensors:
        before = [attempt(lambda y=y: y._version) for y in tensors]
        attempt(lambda x=x: x.detach().as_strided((0,), (1,)).zero_())
        rows.append([b == attempt(lambda y=y: y._version) for b, y in zip(before, tensors)])
    return rows


def run(program, f, is_short=False):
    """The state after a call; of one that raises the error, with the inputs' state."""
    inputs, families = program.make_inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = f(*inputs)
        except Exception as error:
            if "BackendCompilerFailed" in type(error).__name__ or is_short:
                return f"{type(error).__name__}: {error}"
            return [type(error).__name__, [numbers(x) for x in inputs]]
        if is_short:
            return []
        tensors = [*results, *inputs, *families]
        state = {
            "tensors": state_of(tensors),
            "gradients": gradients(tensors, [*inputs, *families]),
        }
        for x in [*inputs, *families]:
            if x.is_leaf and not x.requires_grad and not x.is_inference():
                x.requires_grad_()
        state["later"] = [flags(x) for x in tensors]
        state["versions"] = versions(tensors)
    return state


def first_difference(a, b, path=""):
    """Where two states differ, and how; None where they do not."""
    if isinstance(a, dict) and isinstance(b, dict):
        a, b = list(a.items()), list(b.items())
    if isinstance(a, str) or isinstance(b, str) or type(a) is not type(b):
        return None if a == b else f"{path}: {a} is {b}"
    if isinstance(a, float):
        is_close = a == b or abs(a - b) <= 1e-3 * max(1, abs(a)) or a != a
        return None if is_close else f"{path}: {a} is {b}"
    if not isinstance(a, list | tuple):
        return None if a == b else f"{path}: {a} is {b}"
    if len(a) != len(b):
        return f"{path}: {a} is {b}"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if isinstance(x, tuple):
            found = first_difference(x[1], y[1], f"{path}.{x[0]}")
        else:
            found = first_difference(x, y, f"{path}[{i}]")
        if found:
            return found
    return None


def check(program, backends=BACKENDS):
    """What differs where the program is compiled; None where nothing does."""
    expected = run(program, program.function())
    for backend in backends:
        # Writes that a graph keeps are counted.
        if backend == "inductor" and any(".data" in line for line in program.lines):
            continue
        t._dynamo.reset()
        compiled = t.compile(program.function(), backend=backend)
        for call in ("first call", "second call"):
            found = run(program, compiled)
            if isinstance(found, str):
                return f"{backend} refuses: {found.splitlines()[1]}"
            problem = first_difference(expected, found)
            if problem:
                return f"{backend}, {call}{problem}"
    return None


def shrink(program, differs):
    """The fewest lines and results for which `differs` is true."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for i in reversed(range(len(program.lines))):
            lines = program.lines[:i] + program.lines[i + 1 :]
            less = Program(program.inputs, lines, program.results)
            if differs(less):
                program, is_smaller = less, True
                break
        for line_number, line in enumerate(program.lines):
            if is_smaller or not line.startswith("with "):
                continue
            lines = list(program.lines)
            lines[line_number] = line.partition(": ")[2]
            less = Program(program.inputs, lines, program.results)
            if differs(less):
                program, is_smaller = less, True
        for result in list(program.results):
            rest = [r for r in program.results if r != result]
            less = Program(program.inputs, program.lines, rest)
            if len(program.results) > 1 and differs(less):
                program, is_smaller = less, True
    return program


def explain(seed, program, backends=BACKENDS):
    """The smallest program that differs, and how."""

    def differs(less):
        expected = run(less, less.function())
        if isinstance(expected, list) and expected[0] in ("NameError", "UnboundLocalError"):
            return False
        return check(less, backends) is not None

    small = shrink(program, differs)
    inputs = "".join(f"# v{i} = {text}\n" for i, text in enumerate(small.inputs))
    return f"# seed {seed}\n{inputs}{small.text()}# {check(small, backends)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--backends", default=",".join(BACKENDS))
    options = parser.parse_args()
    backends, found = options.backends.split(","), 0
    for seed in range(options.first, options.first + options.count):
        program = generate(seed)
        if check(program, backends) is not None:
            found += 1
            print(explain(seed, program, backends), flush=True)
    print(f"{options.count} programs, {found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
