"""The compositions of `func` transforms that fuzz_transforms tries, by name.

Each takes the library, a pure function f of tensors, and the case with shapes and batch layouts, and
returns tensors. Where a transform wants one number, f's result is added up.
"""

SIZES = {"outer": 3, "inner": 2}
COMPOSITIONS = {}


def composition(function):
    COMPOSITIONS[function.__name__] = function
    return function


def tensor(t, case, shape):
    return t.tensor(case.values(shape), dtype=t.float64)


def plain(t, case):
    """Arguments without a batch."""
    return [tensor(t, case, shape) for shape in case.shapes]


def insert(shape, dim, size):
    """The shape with a dimension of this size at `dim`, which may be negative or None."""
    if dim is None:
        return shape
    at = dim if dim >= 0 else len(shape) + 1 + dim
    return (*shape[:at], size, *shape[at:])


def batched(t, case, *levels):
    """Arguments with a batch for each level of vmap, the innermost level last."""
    args = []
    for i, shape in enumerate(case.shapes):
        for level in reversed(levels):
            shape = insert(shape, case.layout[level][0][i], SIZES[level])
        args.append(tensor(t, case, shape))
    return args


def batch(t, function, case, level, rank):
    """vmap over the level's batch; `rank` is that of the function's result without it."""
    in_dims, out_dim = case.layout[level]
    return t.func.vmap(function, in_dims=in_dims, out_dims=out_dim if rank else 0)


def total(f):
    return lambda *args: f(*args).sum()


def rank_of_result(case):
    return len(case.result)


def rank_of_argument(case):
    return len(case.shapes[0])


@composition
def gradient(t, f, case):
    return t.func.grad(total(f), argnums=tuple(range(len(case.shapes))))(*plain(t, case))


@composition
def gradient_and_value(t, f, case):
    return t.func.grad_and_value(total(f))(*plain(t, case))


@composition
def gradient_of_gradient(t, f, case):
    return t.func.grad(total(t.func.grad(total(f))))(*plain(t, case))


@composition
def vmap_alone(t, f, case):
    return batch(t, f, case, "outer", rank_of_result(case))(*batched(t, case, "outer"))


@composition
def vmap_of_vmap(t, f, case):
    inner = batch(t, f, case, "inner", rank_of_result(case))
    outer = batch(t, inner, case, "outer", rank_of_result(case) + 1)
    return outer(*batched(t, case, "outer", "inner"))


@composition
def gradient_of_vmap(t, f, case):
    function = batch(t, f, case, "outer", rank_of_result(case))
    return t.func.grad(total(function))(*batched(t, case, "outer"))


@composition
def vmap_of_gradient(t, f, case):
    function = batch(t, t.func.grad(total(f)), case, "outer", rank_of_argument(case))
    return function(*batched(t, case, "outer"))


@composition
def vmap_of_vmap_of_gradient(t, f, case):
    inner = batch(t, t.func.grad(total(f)), case, "inner", rank_of_argument(case))
    outer = batch(t, inner, case, "outer", rank_of_argument(case) + 1)
    return outer(*batched(t, case, "outer", "inner"))


@composition
def vmap_of_gradient_of_vmap(t, f, case):
    inner = batch(t, f, case, "inner", rank_of_result(case))
    outer = batch(t, t.func.grad(total(inner)), case, "outer", rank_of_argument(case))
    return outer(*batched(t, case, "outer", "inner"))


@composition
def jvp_alone(t, f, case):
    return t.func.jvp(f, tuple(plain(t, case)), tuple(plain(t, case)))


@composition
def jvp_of_vjp(t, f, case):
    cotangent = tensor(t, case, case.result)
    function = lambda *args: t.func.vjp(f, *args)[1](cotangent)
    return t.func.jvp(function, tuple(plain(t, case)), tuple(plain(t, case)))


@composition
def vjp_of_jvp(t, f, case):
    tangents, cotangent = tuple(plain(t, case)), tensor(t, case, case.result)
    function = lambda *args: t.func.jvp(f, args, tangents)[1]
    value, pull_back = t.func.vjp(function, *plain(t, case))
    return value, pull_back(cotangent)


@composition
def jvp_of_jvp(t, f, case):
    tangents = tuple(plain(t, case))
    function = lambda *args: t.func.jvp(f, args, tangents)[1]
    return t.func.jvp(function, tuple(plain(t, case)), tuple(plain(t, case)))


@composition
def jvp_of_gradient(t, f, case):
    function = t.func.grad(total(f))
    return t.func.jvp(function, tuple(plain(t, case)), tuple(plain(t, case)))


@composition
def jvp_of_vmap(t, f, case):
    function = batch(t, f, case, "outer", rank_of_result(case))
    return t.func.jvp(function, tuple(batched(t, case, "outer")), tuple(batched(t, case, "outer")))


@composition
def vmap_of_jvp(t, f, case):
    tangents = tuple(plain(t, case))
    function = lambda *args: t.func.jvp(f, args, tangents)[1]
    return batch(t, function, case, "outer", rank_of_result(case))(*batched(t, case, "outer"))


@composition
def vjp_of_vmap(t, f, case):
    function = batch(t, f, case, "outer", rank_of_result(case))
    value, pull_back = t.func.vjp(function, *batched(t, case, "outer"))
    return value, pull_back(value.detach())


@composition
def hessian(t, f, case):
    return t.func.hessian(total(f), argnums=len(case.shapes) - 1)(*plain(t, case))


@composition
def vmap_of_hessian(t, f, case):
    function = t.func.hessian(total(f))
    return batch(t, function, case, "outer", 2 * rank_of_argument(case))(*batched(t, case, "outer"))


@composition
def jacrev_alone(t, f, case):
    return t.func.jacrev(f, argnums=tuple(range(len(case.shapes))))(*plain(t, case))


@composition
def jacfwd_alone(t, f, case):
    return t.func.jacfwd(f, argnums=len(case.shapes) - 1)(*plain(t, case))


@composition
def jacrev_of_jacfwd(t, f, case):
    return t.func.jacrev(t.func.jacfwd(total(f)))(*plain(t, case))


@composition
def jacfwd_of_jacrev(t, f, case):
    return t.func.jacfwd(t.func.jacrev(f))(*plain(t, case))


@composition
def vmap_of_jacrev(t, f, case):
    rank = rank_of_result(case) + rank_of_argument(case)
    return batch(t, t.func.jacrev(f), case, "outer", rank)(*batched(t, case, "outer"))


@composition
def vmap_of_jacfwd(t, f, case):
    rank = rank_of_result(case) + rank_of_argument(case)
    return batch(t, t.func.jacfwd(f), case, "outer", rank)(*batched(t, case, "outer"))


@composition
def jacrev_of_vmap(t, f, case):
    function = batch(t, f, case, "outer", rank_of_result(case))
    return t.func.jacrev(function)(*batched(t, case, "outer"))
