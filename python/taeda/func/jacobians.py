"""Jacobians and Hessians: the derivatives of vjp and jvp for all elements at once, by vmap."""

import functools

from taeda import _C
from taeda.func.batching import vmap
from taeda.func.derivatives import check_argnums, jvp, pick, replace, vjp
from taeda.utils._pytree import tree_flatten, tree_unflatten

_Tensor = _C.Tensor


def _of_chosen(func, args, kwargs, argnums):
    """The arguments to differentiate by, and `func` as a function of these alone."""
    numbers = check_argnums(argnums, len(args))
    if not isinstance(numbers, int):
        return pick(args, numbers), lambda *new: func(*replace(args, new, numbers), **kwargs)
    return (args[numbers],), lambda new: func(*replace(args, new, numbers), **kwargs)


def _basis(leaves):
    """One-hot rows for all elements of the leaves, split back into the leaves' shapes."""
    sizes = [x.numel() for x in leaves]
    total = sum(sizes)
    chunks, start = [], 0
    for x, n in zip(leaves, sizes):
        rows = x.new_zeros(total, n)
        rows.diagonal(-start).fill_(1)
        chunks.append(rows.view(total, *x.shape))
        start += n
    return chunks


def _check_chunk(chunk_size, api):
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"{api}: `chunk_size` should be greater than 0.")


def _check_real(leaves, api, what):
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, _Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{api}: Expected all {what} to be real but received complex tensor at flattened "
                f"input idx: {i}"
            )


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The Jacobian of `func`, by reverse mode: one row for each element of the output."""
    _check_chunk(chunk_size, "jacrev")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, inner = _of_chosen(func, args, kwargs, argnums)
        _check_real(tree_flatten(chosen)[0], "jacrev", "inputs")
        got = vjp(inner, *chosen, has_aux=has_aux)
        output, vjp_fn = got[0], got[1]
        leaves, spec = tree_flatten(output)
        _check_real(leaves, "jacrev", "outputs")

        def rows(*cotangents):
            return vjp_fn(tree_unflatten(cotangents, spec))

        grads = vmap(rows, chunk_size=chunk_size)(*_basis(leaves))
        flat_grads, grad_spec = tree_flatten(grads)
        per_output = _split_rows(flat_grads, leaves, grad_spec)
        if isinstance(argnums, int):
            per_output = [tree[0] for tree in per_output]
        result = tree_unflatten(per_output, spec)
        return (result, got[2]) if has_aux else result

    return wrapper


def _split_rows(flat_grads, leaves, grad_spec):
    """For each output leaf the tree of its gradients, rows shaped as the leaf."""
    sizes = [x.numel() for x in leaves]
    pieces = [g.split(sizes, 0) for g in flat_grads]
    out = []
    for i, leaf in enumerate(leaves):
        rows = [p[i].reshape(*leaf.shape, *p[i].shape[1:]) for p in pieces]
        out.append(tree_unflatten(rows, grad_spec))
    return out


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian of `func`, by forward mode: one column for each element of the input."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, inner = _of_chosen(func, args, kwargs, argnums)
        leaves, spec = tree_flatten(chosen)
        for leaf in leaves:
            if not isinstance(leaf, _Tensor):
                raise RuntimeError(f"jacfwd: Expected tensors, got unsupported type {type(leaf)}")
        _check_real(leaves, "jacfwd", "inputs")

        def push(*tangents):
            got = jvp(inner, chosen, tree_unflatten(tangents, spec), has_aux=has_aux)
            return got[1:] if has_aux else got[1]

        if has_aux:
            columns, aux = _push_with_aux(push, leaves, randomness)
        else:
            columns = vmap(push, out_dims=-1, randomness=randomness)(*_basis(leaves))
        flat, out_spec = tree_flatten(columns)
        _check_real(flat, "jacfwd", "outputs")
        trees = []
        sizes = [x.numel() for x in leaves]
        for column in flat:
            parts = column.split(sizes, -1)
            shaped = [p.reshape(*p.shape[:-1], *x.shape) for p, x in zip(parts, leaves)]
            tree = tree_unflatten(shaped, spec)
            trees.append(tree[0] if isinstance(argnums, int) else tree)
        result = tree_unflatten(trees, out_spec)
        return (result, aux) if has_aux else result

    return wrapper


def _push_with_aux(push, leaves, randomness):
    """Tangents of all columns, and the auxiliary result, which no column changes."""
    kept = []

    def tangents_only(*tangents):
        tangent, aux = push(*tangents)
        kept.append(aux)
        return tangent

    columns = vmap(tangents_only, out_dims=-1, randomness=randomness)(*_basis(leaves))
    return columns, kept[0]


def hessian(func, argnums=0):
    """The matrix of second derivatives: forward over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
