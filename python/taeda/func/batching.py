"""vmap: a function of one example becomes a function of a batch of them."""

import functools

from taeda import _C
from taeda.utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_map_,
    tree_unflatten,
)

_RANDOMNESS = {"error": 0, "same": 1, "different": 2}
_Tensor = _C.Tensor


def _name(func):
    return getattr(func, "__name__", None) or repr(func)


def _check_randomness(randomness):
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )


def _check_out_dims(out_dims, func):
    def check(dim):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, "
                "None or "
                "a python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )

    if not isinstance(out_dims, int):
        tree_map_(check, out_dims, is_leaf=lambda x: x is None)


def _batch_size(dims, leaves):
    size = None
    for leaf, dim in zip(leaves, dims):
        if dim is None:
            continue
        if size is None:
            size = leaf.size(dim)
        elif size != leaf.size(dim):
            sizes = [x.size(d) for x, d in zip(leaves, dims) if d is not None]
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )
    if size is None:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    return size


def _check_dim(func, in_dims, leaf, dim):
    """The dimension a leaf is mapped over, counted from the front; None for none."""
    if dim is None:
        return None
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(dim, int):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension "
            "or None."
        )
    if not isinstance(leaf, _Tensor):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    rank = leaf.dim()
    if dim < -rank or dim >= rank:
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of "
            "dimensionality "
            f"{rank} so expected in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim + rank if dim < 0 else dim


def _process_inputs(in_dims, args, func):
    """(batch size, dimension of each leaf, leaves, spec of the arguments)"""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be "
            "int or "
            "a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if len(args) == 0:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
            "are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not "
            "compatible with "
            f"the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but "
            "inputs "
            f"has structure {spec}."
        )
    dims = [_check_dim(func, in_dims, leaf, dim) for leaf, dim in zip(leaves, dims)]
    return _batch_size(dims, leaves), dims, leaves, spec


def _unwrap_one(output, level, size, out_dim, func):
    if out_dim is None:
        if isinstance(output, _Tensor) and _C._unwrap_batched(output, level)[1] is not None:
            name = _name(func)
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return output
    if not isinstance(output, _Tensor):
        name = _name(func)
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. "
            "Did you "
            "mean to set out_dims= to None for output?"
        )
    return _C._remove_batch(output, level, size, out_dim)


def _unwrap_outputs(outputs, out_dims, level, size, func):
    if isinstance(outputs, _Tensor) and type(out_dims) is int:
        return _unwrap_one(outputs, level, size, out_dims, func)
    leaves, spec = tree_flatten(outputs)
    if isinstance(out_dims, int) or out_dims is None:
        dims = [out_dims] * spec.num_leaves
    elif (
        isinstance(outputs, _Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1
    ):
        dims = list(out_dims)
    else:
        dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
            f"with the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} "
            f"but outputs has structure {spec}."
        )
    return tree_unflatten(
        [_unwrap_one(x, level, size, d, func) for x, d in zip(leaves, dims)], spec
    )


def _run(func, size, dims, leaves, spec, out_dims, randomness, kwargs):
    level = _C._enter_vmap(size, _RANDOMNESS[randomness])
    try:
        wrapped = [x if d is None else _C._wrap_batched(x, d, level) for x, d in zip(leaves, dims)]
        args = wrapped if spec is None else tree_unflatten(wrapped, spec)
        outputs = func(*args, **kwargs)
        return _unwrap_outputs(outputs, out_dims, level, size, func)
    finally:
        _C._exit_vmap(level)


def _join(pieces, out_dims, func):
    """The outputs of consecutive chunks put one after the other."""
    spec = tree_flatten(pieces[0])[1]
    dims = _broadcast_to_and_flatten(out_dims, spec)
    columns = zip(*(tree_flatten(p)[0] for p in pieces))
    joined = [
        column[0] if dim is None else _C.cat(list(column), dim)
        for column, dim in zip(columns, dims)
    ]
    return tree_unflatten(joined, spec)


def _run_in_chunks(func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size):
    pieces = []
    # What all examples share is drawn again for each chunk, from where the first one started.
    state = _C.default_generator.get_state() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:
            _C.default_generator.set_state(state)
        count = min(chunk_size, size - start)
        part = [x if d is None else x.narrow(d, start, count) for x, d in zip(leaves, dims)]
        pieces.append(_run(func, count, dims, part, spec, out_dims, randomness, kwargs))
    return _join(pieces, out_dims, func)


def _flat_dims(in_dims, args):
    """The dimension of each argument where these are tensors alone: nothing to flatten."""
    if not args or not all(type(a) is _Tensor for a in args):
        return None
    if type(in_dims) is int:
        return (in_dims,) * len(args)
    is_flat = type(in_dims) is tuple and len(in_dims) == len(args)
    return in_dims if is_flat and all(d is None or type(d) is int for d in in_dims) else None


def vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs):
    given = _flat_dims(in_dims, args)
    if given is not None:
        dims = [_check_dim(func, in_dims, a, dim) for a, dim in zip(args, given)]
        size, leaves, spec = _batch_size(dims, args), args, None
    else:
        size, dims, leaves, spec = _process_inputs(in_dims, args, func)
    if chunk_size is not None and chunk_size < size:
        return _run_in_chunks(
            func, size, dims, leaves, spec, out_dims, randomness, kwargs, chunk_size
        )
    return _run(func, size, dims, leaves, spec, out_dims, randomness, kwargs)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` over a batch: operators run once for all examples, by their batching rules.

    `in_dims` names the dimension of each argument to map over, None for arguments that are the
    same for every example, nested as the arguments are; `out_dims` where the batch goes in each
    result. `randomness` says what random operators do: "error", "same" draw for all, or
    "different" draws. With `chunk_size` the batch runs in pieces of that size.
    """
    _check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    _check_out_dims(out_dims, func)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)

    return wrapped


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """`vmap` of a batch in this many pieces."""
    _check_randomness(randomness)
    _check_out_dims(out_dims, func)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        size = _process_inputs(in_dims, args, func)[0]
        chunk_size = -(-size // chunks)
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)

    return wrapped
