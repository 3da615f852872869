"""Random pure programs under compositions of `func` transforms, compared with PyTorch.

`make_case(seed)` gives a function (its source over `t`, the library), its arguments and a
composition of transforms, such as vmap of grad with certain in_dims and out_dims. `evaluate(case, t)`
gives the results as [[shape, flat values]]. Functions are smooth where they are evaluated, so that
results agree to rounding.

As a program: `python fuzz_transforms.py FIRST LAST` compares Taeda with PyTorch over a range of
seeds; `python fuzz_transforms.py --golden FILE COUNT` writes PyTorch's results.
"""

import gzip
import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from transform_compositions import COMPOSITIONS

SHAPES = [(2,), (3,), (2, 2), (2, 3), (3, 2)]


# ---- functions ----


class Body:
    """The statements of a function under construction, with the shapes of its variables."""

    def __init__(self, rng, shapes):
        self.rng = rng
        self.shapes = {f"x{i}": shape for i, shape in enumerate(shapes)}
        self.lines = []

    def pick(self, accept=lambda shape: True):
        """A variable of an accepted shape, later ones more likely; None if there is none."""
        names = [name for name, shape in self.shapes.items() if accept(shape)]
        return self.rng.choices(names, range(1, len(names) + 1))[0] if names else None

    def add(self, expression, shape):
        name = f"a{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        self.shapes[name] = tuple(shape)


def unary(b):
    v = b.pick()
    forms = ("{v}.sin()", "{v}.cos()", "{v}.tanh()", "{v}.sigmoid()", "({v} * {v} + 1).sqrt()")
    forms += (
        "({v} * {v} + 1).log()",
        "{v}.tanh().exp()",
        "{v}.pow(2)",
        "({v} * {v} + 1.5).rsqrt()",
    )
    forms += (
        "-{v} * 0.5",
        "{v}.clone() + 1",
        "{v}.atan()",
        "{v} / 2",
        "({v} * {v} + 1).reciprocal()",
    )
    b.add(b.rng.choice(forms).format(v=v), b.shapes[v])


def binary(b):
    v = b.pick()
    w = b.pick(lambda shape: shape in (b.shapes[v], b.shapes[v][1:], ()))
    if w:
        forms = (
            "{v} * {w}",
            "{v} + {w}",
            "{v} - {w}",
            "{v} / ({w} * {w} + 1)",
            "t.lerp({v}, {w}.expand_as({v}), 0.3)",
        )
        b.add(b.rng.choice(forms).format(v=v, w=w), b.shapes[v])


def reduction(b):
    v = b.pick(lambda shape: len(shape) > 0)
    if v:
        shape = b.shapes[v]
        d = b.rng.randrange(len(shape))
        kept = shape[:d] + (1,) + shape[d + 1 :]
        rest = shape[:d] + shape[d + 1 :]
        form, result = b.rng.choice(
            (
                (f"{v}.sum({d})", rest),
                (f"{v}.mean({d}, keepdim=True)", kept),
                (f"{v}.logsumexp({d})", rest),
                (f"{v}.prod({d})", rest),
                (f"{v}.sum()", ()),
                (f"{v}.mean()", ()),
                (f"{v}.var({d})", rest) if shape[d] > 1 else (f"{v}.sum({d})", rest),
            )
        )
        b.add(form, result)


def same_shape(b):
    v = b.pick(lambda shape: len(shape) > 0)
    if v:
        d = b.rng.randrange(len(b.shapes[v]))
        forms = (
            "{v}.softmax({d})",
            "{v}.log_softmax({d})",
            "{v}.cumsum({d})",
            "{v}.flip({d})",
            "{v}.roll(1, {d})",
        )
        b.add(b.rng.choice(forms).format(v=v, d=d), b.shapes[v])


def product(b):
    v = b.pick(lambda shape: len(shape) in (1, 2))
    if v:
        left = b.shapes[v]
        w = b.pick(lambda shape: len(shape) in (1, 2) and shape[0] == left[-1])
        if w:
            b.add(f"{v} @ {w}", left[:-1] + b.shapes[w][1:])
        elif len(left) == 2:
            b.add(f"{v} @ {v}.t()", (left[0], left[0]))


def view(b):
    v = b.pick(lambda shape: len(shape) > 0)
    if v:
        shape = b.shapes[v]
        i = b.rng.randrange(shape[0])
        forms = [
            (f"{v}.reshape(-1)", (math.prod(shape),)),
            (f"{v}.unsqueeze(0)", (1, *shape)),
            (f"{v}[{i}]", shape[1:]),
            (f"{v}[{i}:]", (shape[0] - i, *shape[1:])),
            (f"{v}.unsqueeze(-1).expand({', '.join(map(str, (*shape, 2)))})", (*shape, 2)),
        ]
        if len(shape) == 2:
            forms += [(f"{v}.t()", shape[::-1]), (f"{v}.diagonal()", (min(shape),))]
            forms += [(f"{v}.permute(1, 0)", shape[::-1])]
        form, result = b.rng.choice(forms)
        if math.prod(result) <= 12:
            b.add(form, result)


def index(b):
    v = b.pick(lambda shape: len(shape) > 0)
    if v:
        shape = b.shapes[v]
        chosen = [b.rng.randrange(shape[0]) for _ in range(2)]
        mask = [bool(b.rng.randrange(2)) for _ in range(shape[-1])]
        form, result = b.rng.choice(
            (
                (f"{v}[t.tensor({chosen})]", (2, *shape[1:])),
                (f"{v}.index_select(0, t.tensor({chosen}))", (2, *shape[1:])),
                (f"t.where(t.tensor({mask}), {v}, {v} * 2)", shape),
                (f"t.cat([{v}, {v}.sin()])", (2 * shape[0], *shape[1:])),
                (f"t.stack([{v}, {v} * 2])", (2, *shape)),
                (f"{v}.masked_fill(t.tensor({mask}), 0.5)", shape),
            )
        )
        if math.prod(result) <= 12:
            b.add(form, result)


MAKERS = {unary: 6, binary: 6, reduction: 3, same_shape: 2, product: 3, view: 4, index: 3}


def make_function(rng, shapes):
    """(source, shape of the result) of a function of arguments of these shapes."""
    body = Body(rng, shapes)
    length = rng.randint(3, 8)
    while len(body.lines) < length:
        rng.choices(list(MAKERS), list(MAKERS.values()))[0](body)
    last = f"a{len(body.lines) - 1}"
    # Every argument has an influence, and the result is tame.
    ends = " + ".join(f"x{i}.sin().sum()" for i in range(len(shapes)))
    body.add(f"({last} * ({ends})).tanh() + {last} * 0.25", body.shapes[last])
    names = ", ".join(f"x{i}" for i in range(len(shapes)))
    lines = [f"def f({names}):", *(f"    {line}" for line in body.lines)]
    final = f"a{len(body.lines) - 1}"
    return "\n".join([*lines, f"    return {final}"]), body.shapes[final]


# ---- cases ----


@dataclass
class Case:
    seed: int
    source: str
    shapes: list  # of the function's arguments
    result: tuple  # shape of the function's result
    composition: str
    layout: dict  # in_dims and out_dims of each vmap, by level
    numbers: random.Random  # where the values of the arguments come from

    def values(self, shape):
        """A nested list of numbers in [-1, 1], as `tensor` takes it."""
        if not shape:
            return round(self.numbers.uniform(-1, 1), 3)
        return [self.values(shape[1:]) for _ in range(shape[0])]

    def script(self):
        return f"# seed {self.seed}: {self.composition} {self.layout}\n{self.source}"


def make_case(seed):
    rng = random.Random(f"transform {seed}")
    shapes = [rng.choice(SHAPES) for _ in range(rng.choice((1, 2, 2)))]
    if len(shapes) == 2 and rng.random() < 0.5:
        shapes[1] = shapes[0]
    source, result = make_function(rng, shapes)
    composition = rng.choice(sorted(COMPOSITIONS))
    layout = {level: _layout(rng, shapes) for level in ("outer", "inner")}
    return Case(seed, source, shapes, result, composition, layout, random.Random(seed))


def _layout(rng, shapes):
    """(in_dims, where the batch of the result goes): at least one argument has a batch."""
    dims = [rng.choice((0, 0, -1, 1, None)) for _ in shapes]
    if all(dim is None for dim in dims):
        dims[0] = 0
    return tuple(dims), rng.choice((0, 0, -1, 1))


def evaluate(case, t):
    """The results of the case on a library, as [[shape, flat values]]."""
    space = {"t": t}
    exec(case.source, space)
    case.numbers = random.Random(case.seed)
    results = COMPOSITIONS[case.composition](t, space["f"], case)
    return [[list(r.shape), r.detach().reshape(-1).tolist()] for r in _flatten(results)]


def _flatten(results):
    if isinstance(results, (tuple, list)):
        return [leaf for item in results for leaf in _flatten(item)]
    return [results]


def is_close(ours, theirs):
    """Whether shapes are equal and values agree to nine digits."""
    if [shape for shape, _ in ours] != [shape for shape, _ in theirs]:
        return False
    pairs = [pair for a, b in zip(ours, theirs) for pair in zip(a[1], b[1])]
    scale = max([1.0, *(abs(b) for _, b in pairs)])
    return all(abs(a - b) <= 1e-9 * scale for a, b in pairs)


def is_tame(results):
    """Whether the results are worth keeping: finite, neither huge nor many."""
    values = [x for _, flat in results for x in flat]
    return len(values) <= 400 and all(math.isfinite(x) and abs(x) < 1e6 for x in values)


def expected_results(case, reference):
    """The reference's results, or None where it refuses the case or they are not tame."""
    try:
        results = evaluate(case, reference)
    except (RuntimeError, ValueError, IndexError):
        return None
    return results if is_tame(results) else None


def write_golden(path, count, reference):
    entries, seed = [], 0
    while len(entries) < count:
        results = expected_results(make_case(seed), reference)
        if results is not None:
            rounded = [[s, [float(f"{x:.11g}") for x in flat]] for s, flat in results]
            entries.append([seed, rounded])
        seed += 1
    text = json.dumps(entries, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def read_golden(path):
    """[[seed, results]]."""
    return json.loads(gzip.decompress(path.read_bytes()))


def main(arguments):
    import torch

    if arguments[0] == "--golden":
        write_golden(Path(arguments[1]), int(arguments[2]), torch)
        return
    import taeda

    for seed in range(int(arguments[0]), int(arguments[1])):
        case = make_case(seed)
        expected = expected_results(case, torch)
        if expected is None:
            continue
        try:
            found = evaluate(case, taeda)
        except Exception as error:
            print(f"{case.script()}\n# {type(error).__name__}: {error}\n", flush=True)
            continue
        if not is_close(found, expected):
            print(f"{case.script()}\n# ours     {found}\n# expected {expected}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
