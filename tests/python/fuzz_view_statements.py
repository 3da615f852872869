"""Statements of fuzz_views that make tensors: views and plain operations, with their weights.

A statement's maker takes the scope and returns a line of Python, or None where no variable fits.
Values stay small integers, so that results are exact in any order of evaluation.
"""

from fuzz_scope import has_dims, is_matrix, size

# ---- views ----


def _dim(s, shape):
    return s.rng.randrange(len(shape))


def _new(s, source, expression, shape):
    return f"{s.name(shape)} = {source}{expression}"


def select(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        d = _dim(s, shape)
        i = s.rng.randrange(shape[d])
        return _new(s, v, f".select({d}, {i})", shape[:d] + shape[d + 1 :])


def index(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        i = s.rng.randrange(shape[0])
        return _new(s, v, f"[{i}]", shape[1:])


def slice_(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        start = s.rng.randrange(shape[0])
        stop = s.rng.randint(start + 1, shape[0])
        return _new(s, v, f"[{start}:{stop}]", (stop - start, *shape[1:]))


def narrow(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        d = _dim(s, shape)
        return _new(s, v, f".narrow({d}, 0, 1)", (*shape[:d], 1, *shape[d + 1 :]))


def transpose(s):
    v = s.any(is_matrix)
    if v:
        a, b = s.shapes[v]
        return _new(
            s, v, s.rng.choice((".t()", ".transpose(0, 1)", ".permute(1, 0)", ".T")), (b, a)
        )


def view(s):
    v = s.any(has_dims)
    if v:
        shape = s.shapes[v]
        method = s.rng.choice(("view", "reshape", "view"))
        return _new(s, v, f".{method}(-1)", (size(shape),))


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
    v = s.any(is_matrix)
    if v:
        return _new(s, v, ".diagonal()", (min(s.shapes[v]),))


def as_strided(s):
    v = s.any(lambda shape: size(shape) >= 4)
    if v:
        return _new(s, v, ".as_strided((2, 2), (2, 1))", (2, 2))


def unbind(s):
    v = s.any(lambda shape: len(shape) > 0 and shape[0] == 2)
    if v:
        shape = s.shapes[v]
        how = s.rng.choice((".unbind()", ".split(1)", ".chunk(2)"))
        piece = shape[1:] if how == ".unbind()" else (1, *shape[1:])
        return f"{s.name(piece)}, {s.name(piece)} = {v}{how}"


def complex_view(s):
    if s.complex_names:
        v = s.rng.choice(sorted(s.complex_names))
        how = s.rng.choice((".conj()", ".real", ".imag", ".imag.neg()", ".mH"))
        if how == ".mH" and len(s.shapes[v]) != 2:
            how = ".conj()"
        return _new(s, v, how, s.shapes[v][::-1] if how == ".mH" else s.shapes[v])


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
    v = s.any(has_dims)
    if v:
        how, shape = s.rng.choice(((".sum()", ()), (".sum(0)", s.shapes[v][1:])))
        return _new(s, v, how, shape)


VIEW_STATEMENTS = [
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
    (complex_view, 8),
    (binary, 8),
    (unary, 8),
    (reduce, 4),
]
