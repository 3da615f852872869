"""The statements of which fuzz_views makes programs, each with its weight.

A statement's maker takes the scope (the variables so far, with the shapes they have if nothing
fails) and returns a line of Python, or None where no variable fits. Values stay small integers, so
that results are exact in any order of evaluation.
"""

LEAF_SHAPES = [(2, 3), (2, 3), (3,), (2, 2), (), (1, 2)]


class Scope:
    """The variables of a program under construction."""

    def __init__(self, rng):
        self.rng = rng
        self.shapes = {}
        self.handles = 0
        self.has_read_gradient = False

    def name(self, shape):
        name = f"v{len(self.shapes)}"
        self.shapes[name] = tuple(shape)
        return name

    def any(self, accept=lambda shape: True):
        """A variable whose shape is accepted, later ones more likely; None if there is none."""
        names = [name for name, shape in self.shapes.items() if accept(shape)]
        return self.rng.choices(names, range(1, len(names) + 1))[0] if names else None

    def number(self):
        return self.rng.choice((1, 2, 3, -1))

    def new_leaf(self):
        shape = self.rng.choice(LEAF_SHAPES)
        count = 1
        for size in shape:
            count *= size
        numbers = [float(self.rng.randint(-3, 4)) for _ in range(count)]
        grad = self.rng.choice(("", ", requires_grad=True", ", requires_grad=True"))
        values = numbers[0] if shape == () else _nest(numbers, shape)
        return f"{self.name(shape)} = t.tensor({values}, dtype=t.float64{grad})"

    def in_mode(self, line):
        """The statement, at times under a mode."""
        modes = ("t.no_grad()", "t.inference_mode()", "t.enable_grad()", "t.inference_mode(False)")
        mode = self.rng.choices(("", *modes), (40, 5, 2, 1, 1))[0]
        if not mode or "leaf" in line or "\n" in line:
            return line
        return f"with {mode}: {line}"


def _nest(numbers, shape):
    if len(shape) == 1:
        return numbers
    step = len(numbers) // shape[0]
    return [_nest(numbers[i : i + step], shape[1:]) for i in range(0, len(numbers), step)]


def _has_dims(shape):
    return len(shape) > 0 and 0 not in shape


def _is_matrix(shape):
    return len(shape) == 2 and 0 not in shape


def _size(shape):
    count = 1
    for size in shape:
        count *= size
    return count


# ---- views ----


def _dim(s, shape):
    return s.rng.randrange(len(shape))


def _new(s, source, expression, shape):
    return f"{s.name(shape)} = {source}{expression}"


def select(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        d = _dim(s, shape)
        i = s.rng.randrange(shape[d])
        return _new(s, v, f".select({d}, {i})", shape[:d] + shape[d + 1 :])


def index(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        i = s.rng.randrange(shape[0])
        return _new(s, v, f"[{i}]", shape[1:])


def slice_(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        start = s.rng.randrange(shape[0])
        stop = s.rng.randint(start + 1, shape[0])
        return _new(s, v, f"[{start}:{stop}]", (stop - start, *shape[1:]))


def narrow(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        d = _dim(s, shape)
        return _new(s, v, f".narrow({d}, 0, 1)", (*shape[:d], 1, *shape[d + 1 :]))


def transpose(s):
    v = s.any(_is_matrix)
    if v:
        a, b = s.shapes[v]
        return _new(
            s, v, s.rng.choice((".t()", ".transpose(0, 1)", ".permute(1, 0)", ".T")), (b, a)
        )


def view(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        method = s.rng.choice(("view", "reshape", "view"))
        return _new(s, v, f".{method}(-1)", (_size(shape),))


def same_shape_view(s):
    v = s.any()
    how = s.rng.choice(
        (".view_as({0})", "[...]", ".detach()", ".data", ".alias()", ".expand_as({0})")
    )
    if how == ".alias()":
        how = ".view({0}.shape)"
    return _new(s, v, how.format(v), s.shapes[v])


def unsqueeze(s):
    v = s.any(lambda shape: len(shape) < 3)
    if v:
        return _new(s, v, s.rng.choice((".unsqueeze(0)", "[None]")), (1, *s.shapes[v]))


def squeeze(s):
    v = s.any(lambda shape: 1 in shape)
    if v:
        how = s.rng.choice((".squeeze()", ".squeeze(0)"))
        shape = s.shapes[v]
        kept = tuple(n for n in shape if n != 1) if how == ".squeeze()" else shape
        if how == ".squeeze(0)" and shape[0] == 1:
            kept = shape[1:]
        return _new(s, v, how, kept)


def expand(s):
    v = s.any(lambda shape: len(shape) < 3 and 0 not in shape)
    if v:
        shape = s.shapes[v]
        return _new(s, v, f".expand(2, {', '.join(['-1'] * len(shape))})", (2, *shape))


def diagonal(s):
    v = s.any(_is_matrix)
    if v:
        return _new(s, v, ".diagonal()", (min(s.shapes[v]),))


def as_strided(s):
    v = s.any(lambda shape: _size(shape) >= 4)
    if v:
        return _new(s, v, ".as_strided((2, 2), (2, 1))", (2, 2))


def unbind(s):
    v = s.any(lambda shape: len(shape) > 0 and shape[0] == 2)
    if v:
        shape = s.shapes[v]
        how = s.rng.choice((".unbind()", ".split(1)", ".chunk(2)"))
        piece = shape[1:] if how == ".unbind()" else (1, *shape[1:])
        return f"{s.name(piece)}, {s.name(piece)} = {v}{how}"


# ---- values ----


def binary(s):
    a = s.any()
    b = s.any(lambda shape: shape in (s.shapes[a], ()))
    return _new(s, a, f" {s.rng.choice('+*-')} {b}", s.shapes[a]) if b else None


def unary(s):
    v = s.any()
    how = s.rng.choice((f" * {s.number()}", ".clone()", ".neg()", f" + {s.number()}", ".relu()"))
    return _new(s, v, how, s.shapes[v])


def reduce(s):
    v = s.any(_has_dims)
    if v:
        how, shape = s.rng.choice(((".sum()", ()), (".sum(0)", s.shapes[v][1:])))
        return _new(s, v, how, shape)


# ---- in place ----


def write_number(s):
    v = s.any()
    n = s.number()
    return v + s.rng.choice(
        (
            f".add_({n})",
            f".mul_({n})",
            ".zero_()",
            f".fill_({n})",
            ".neg_()",
            ".clamp_(min=0)",
            ".relu_()",
        )
    )


def write_tensor(s):
    a = s.any()
    b = s.any(lambda shape: shape in (s.shapes[a], ()))
    return f"{a}.{s.rng.choice(('add_', 'mul_', 'sub_', 'copy_'))}({b})" if b else None


def set_item(s):
    v = s.any(_has_dims)
    if v:
        shape = s.shapes[v]
        i = s.rng.randrange(shape[0])
        b = s.any(lambda other: other in (shape[1:], ())) if s.rng.random() < 0.6 else None
        return f"{v}[{i}] = {b or s.number()}"


def write_through_view(s):
    v = s.any(_has_dims)
    if v:
        i = s.rng.randrange(s.shapes[v][0])
        return f"{v}[{i}].{s.rng.choice(('add_(1)', 'mul_(2)', 'zero_()'))}"


def reshape_in_place(s):
    v = s.any(_is_matrix)
    if v:
        a, b = s.shapes[v]
        how, shape = s.rng.choice(
            ((".t_()", (b, a)), (".transpose_(0, 1)", (b, a)), (".unsqueeze_(0)", (1, a, b)))
        )
        s.shapes[v] = shape
        return v + how


# ---- autograd ----


def set_flag(s):
    v = s.any()
    return v + s.rng.choice(
        (
            ".requires_grad_()",
            ".requires_grad_()",
            ".requires_grad_(False)",
            ".detach_()",
            ".retain_grad()",
            ".requires_grad = True",
        )
    )


def add_hook(s):
    v = s.any()
    s.handles += 1
    name = f"h{s.handles}"
    factor = s.rng.choice(("", ", 2"))
    call = s.rng.choices(
        (
            f"register_hook(hook('{name}'{factor}))",
            f"register_post_accumulate_grad_hook(leaf_hook('{name}'))",
        ),
        (4, 1),
    )[0]
    return f"{name} = {v}.{call}"


def remove_hook(s):
    if s.handles:
        return f"h{s.rng.randint(1, s.handles)}.remove()"


def backward(s):
    v = s.any()
    retain = s.rng.choice(("", "", "retain_graph=True", "create_graph=True"))
    call = s.rng.choice(
        (f"{v}.sum().backward({retain})", f"{v}.backward(t.ones_like({v}), {retain})")
    )
    return call.replace(", )", ")")


def gradient(s):
    a, b = s.any(), s.any()
    options = s.rng.choice(
        ("", ", allow_unused=True", ", retain_graph=True", ", create_graph=True")
    )
    return f"{s.name(s.shapes[b])}, = t.autograd.grad({a}.sum(), {b}{options})"


def clear_grad(s):
    return f"{s.any()}.grad = None"


def set_grad(s):
    v = s.any()
    return f"{v}.grad = t.ones_like({v})"


def set_data(s):
    a = s.any()
    b = s.any(lambda shape: shape == s.shapes[a])
    return f"{a}.data = {b}.detach() * 2"


def new_leaf(s):
    return s.new_leaf()


STATEMENTS = [
    (select, 3),
    (index, 3),
    (slice_, 3),
    (narrow, 2),
    (transpose, 4),
    (view, 4),
    (same_shape_view, 5),
    (unsqueeze, 2),
    (squeeze, 2),
    (expand, 2),
    (diagonal, 2),
    (as_strided, 2),
    (unbind, 3),
    (binary, 8),
    (unary, 8),
    (reduce, 4),
    (write_number, 9),
    (write_tensor, 7),
    (set_item, 5),
    (write_through_view, 3),
    (reshape_in_place, 2),
    (set_flag, 7),
    (add_hook, 5),
    (remove_hook, 1),
    (backward, 10),
    (gradient, 4),
    (clear_grad, 1),
    (set_grad, 1),
    (set_data, 1),
    (new_leaf, 2),
]
