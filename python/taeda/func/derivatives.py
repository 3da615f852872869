"""Derivatives as transforms of functions: grad and vjp in reverse mode, jvp in forward mode."""

import functools

from taeda import _C
from taeda.autograd.graph import disable_saved_tensors_hooks
from taeda.utils._pytree import (
    tree_flatten,
    tree_map,
    tree_unflatten,
    treespec_pprint,
)

_Tensor = _C.Tensor


# ---- arguments ----


def _check_argnum(argnum, num_args):
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -num_args <= argnum < num_args:
        raise RuntimeError(f"Got argnum={argnum}, but only {num_args} positional inputs")
    return argnum + num_args if argnum < 0 else argnum


def check_argnums(argnums, num_args):
    """The arguments to differentiate as positions from the front: an int or a tuple of them."""
    if isinstance(argnums, int):
        return _check_argnum(argnums, num_args)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if len(argnums) == 0:
        raise RuntimeError("argnums must be non-empty")
    if len(set(argnums)) != len(argnums):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(_check_argnum(n, num_args) for n in argnums)


def pick(args, argnums):
    """The argument, or the tuple of arguments, at `argnums`."""
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def replace(args, new, argnums):
    """The arguments with new values for those at `argnums`."""
    out = list(args)
    if isinstance(argnums, int):
        out[argnums] = new
    else:
        for n, value in zip(argnums, new):
            out[n] = value
    return tuple(out)


def map_tensors(f, tree):
    """The tree with `f(t)` for each tensor t in it."""
    if isinstance(tree, _Tensor):
        return f(tree)
    return tree_map(lambda x: f(x) if isinstance(x, _Tensor) else x, tree)


def _unwrap(tree, level):
    return map_tensors(lambda t: _C._unwrap_level(t, level), tree)


def _tracked(tree, level):
    """Wraps tensors at the level, ready to be differentiated."""

    def one(t):
        if not isinstance(t, _Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
        return _C._track_grad(t, level)

    return one(tree) if isinstance(tree, _Tensor) else tree_map(one, tree)


def _constant(tree, level):
    """Wraps the other tensors too, so that in-place operators know them as the level's own."""
    return map_tensors(lambda t: _C._wrap_grad(t, level), tree)


def _gradients(outputs, inputs, cotangents, retain_graph, create_graph):
    """Gradients for a flat list of inputs; zeros where nothing flows."""
    roots = [
        (o, None if cotangents is None else c)
        for o, c in zip(outputs, cotangents or outputs)
        if o.requires_grad
    ]
    wanted = [x for x in inputs if x.requires_grad]
    if not roots or not wanted:
        return [_C.zeros_like(x) for x in inputs]
    found = iter(
        _C._run_backward(
            tuple(o for o, _ in roots),
            tuple(c for _, c in roots),
            retain_graph,
            create_graph,
            tuple(wanted),
            True,
            False,
        )
    )
    grads = [next(found) if x.requires_grad else None for x in inputs]
    return [_C.zeros_like(x) if g is None else g for g, x in zip(grads, inputs)]


# ---- reverse mode ----


def _split_aux(output, api):
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


def _unwrap_aux(aux, level):
    """The auxiliary result without the level's wrappers: a tree of tensors alone."""

    def one(t):
        if not isinstance(t, _Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
        return _C._unwrap_level(t, level)

    return tree_map(one, aux)


def _without_saved_tensors_hooks(transform):
    """Hooks on saved tensors would see the wrappers of levels: setting them inside is an error."""

    @functools.wraps(transform)
    def call(*args, **kwargs):
        with disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
            "Please open an issue with your use case."
        ):
            return transform(*args, **kwargs)

    return call


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func` and its value."""

    @_without_saved_tensors_hooks
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        numbers = check_argnums(argnums, len(args))
        level = _C._enter_grad()
        try:
            inputs = _tracked(pick(args, numbers), level)
            rest = args if len(args) == 1 else _constant(args, level)
            if kwargs:
                kwargs = _constant(kwargs, level)
            output = func(*replace(rest, inputs, numbers), **kwargs)
            aux = None
            if has_aux:
                output, aux = _split_aux(output, "grad_and_value(f)(*args)")
            if not isinstance(output, _Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got "
                    f"{type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
                    f"tensor with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            if isinstance(inputs, _Tensor):
                grads = _gradients([output], [inputs], None, False, False)[0]
            else:
                leaves, spec = tree_flatten(inputs)
                grads = tree_unflatten(_gradients([output], leaves, None, False, False), spec)
            grads = _unwrap(grads, level)
            output = _C._unwrap_level(output, level)
            if has_aux:
                aux = _unwrap_aux(aux, level)
        finally:
            _C._exit_grad(level)
        return (grads, (output, aux)) if has_aux else (grads, output)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`, whose result must be one number.

    `argnums` says with respect to which arguments (an int or a tuple); with `has_aux`, `func`
    returns `(output, aux)` and the new function `(gradient, aux)`.
    """
    with_value = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = with_value(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def _check_outputs(leaves, output, api):
    for leaf in leaves:
        if not isinstance(leaf, _Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )
    if not leaves:
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {output})"
        )


@_without_saved_tensors_hooks
def vjp(func, *primals, has_aux=False):
    """`(output, vjp_fn[, aux])`: the value of `func`, and a function of cotangents."""
    level = _C._enter_grad()
    try:
        inputs = _tracked(primals, level)
        output = func(*inputs)
        aux = None
        if has_aux:
            output, aux = _split_aux(output, "vjp(f, *primals)")
            aux = _unwrap_aux(aux, level)
        leaves, spec = tree_flatten(output)
        _check_outputs(leaves, output, "vjp(f, *primals)")
        for leaf in leaves:
            if not (leaf.is_floating_point() or leaf.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {leaf.dtype}"
                )
        results = _unwrap(output, level)
    finally:
        _C._exit_grad(level)
    flat_inputs, input_spec = tree_flatten(inputs)

    def wrapper(cotangents, retain_graph=True, create_graph=None):
        if create_graph is None:
            create_graph = _C.is_grad_enabled()
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {treespec_pprint(given_spec)}, primal "
                "output: "
                f"{treespec_pprint(spec)}"
            )
        grads = _gradients(leaves, flat_inputs, given, retain_graph, create_graph)
        grads = [_C._unwrap_level(g, level) for g in grads]
        return tree_unflatten(grads, input_spec)

    return (results, wrapper, aux) if has_aux else (results, wrapper)


# ---- forward mode ----


def _check_jvp(primals, tangents, api):
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat_primals, primal_spec = tree_flatten(primals)
    flat_tangents, tangent_spec = tree_flatten(tangents)
    if primal_spec != tangent_spec:
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{primal_spec} and tangents with structure {tangent_spec}"
        )
    for name, leaves in (("primals", flat_primals), ("tangents", flat_tangents)):
        if not leaves:
            raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
        for leaf in leaves:
            if not isinstance(leaf, _Tensor):
                raise RuntimeError(
                    f"{api}: Expected {name} to only contain Tensors, got {type(leaf)}"
                )
    return flat_primals, flat_tangents, primal_spec


def _unpack(dual, level, strict, api):
    if not isinstance(dual, _Tensor):
        raise RuntimeError(
            f"{api}: expected f(*args) to return only tensors, got unsupported type {type(dual)}"
        )
    primal, tangent = _C._unpack_dual(dual)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True."
            )
        tangent = _C.zeros_like(primal)
    return _C._unwrap_level(primal, level), _C._unwrap_level(tangent, level)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """`(output, tangent of the output[, aux])`, by forward mode."""
    api = "jvp(f, primals, tangents)"
    flat_primals, flat_tangents, spec = _check_jvp(primals, tangents, api)
    level = _C._enter_jvp()
    try:
        duals = [
            _C._make_dual(_C._wrap_grad(p, level), _C._wrap_grad(t, level))
            for p, t in zip(flat_primals, flat_tangents)
        ]
        output = func(*tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            output, aux = _split_aux(output, api)
            aux = _unwrap_aux(map_tensors(lambda t: _C._unpack_dual(t)[0], aux), level)
        leaves, out_spec = tree_flatten(output)
        if not leaves:
            raise RuntimeError(
                f"{api}: Expected f to be a function that has non-empty output (got output = "
                f"{output})"
            )
        pairs = [_unpack(x, level, strict, api) for x in leaves]
    finally:
        _C._exit_grad(level)
    value = tree_unflatten([p for p, _ in pairs], out_spec)
    tangent = tree_unflatten([t for _, t in pairs], out_spec)
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(func, *primals):
    """`(output, jvp_fn)`: `jvp_fn` applies the derivative at `primals`, without `func`.

    The derivative is kept as the recorded graph of `func`; its transpose, transposed once more,
    takes tangents to the tangent of the output.
    """
    output, transpose = vjp(func, *primals)
    zeros = tree_map(_C.zeros_like, output)
    _, apply = vjp(transpose, zeros)
    flat, primal_spec = tree_flatten(primals)

    def jvp_fn(*tangents):
        given, spec = tree_flatten(tangents)
        if spec != primal_spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals "
                f"{primal_spec}"
            )
        for i, (t, p) in enumerate(zip(given, flat)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(p, what):
                    raise RuntimeError(
                        f"Expected {what} {getattr(t, what)} of tangent {i} to match that of the "
                        f"corresponding primal {getattr(p, what)}"
                    )
        return apply(tuple(tangents))[0]

    return output, jvp_fn
