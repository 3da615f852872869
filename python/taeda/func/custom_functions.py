"""autograd.Function under transforms: one call for each active level, innermost first."""

from collections import namedtuple

from taeda import _C
from taeda.utils._pytree import (
    _broadcast_to_and_flatten,
    tree_flatten,
    tree_map_only,
    tree_unflatten,
)

_Tensor = _C.Tensor
_MORE = (
    "For more details, please see the notes on extending the function transforms with "
    "autograd.Function."
)

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])
_RANDOMNESS = ("error", "same", "different")


def custom_function_call(cls, *args, **kwargs):
    """`apply` while a transform is active."""
    from taeda.autograd.function import Function

    level, kind, size, randomness = _C._top_level()
    if kind == "vmap" and not any(_is_wrapped(a) for a in args):
        # The same for every example, but for tangents, which jvp sees as they are.
        return cls._apply_here(*args, **kwargs)
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. " + _MORE
        )
    if not any(_is_at(a, level) for a in args):
        return _C._call_below_level(lambda: cls.apply(*args, **kwargs))
    if kind == "functionalize":
        return _under_functionalize(cls, level, args, kwargs)
    if kind == "vmap":
        return _under_vmap(cls, level, size, _RANDOMNESS[randomness], args, kwargs)
    return _under_grad(cls, level, args, kwargs)


def _is_wrapped(value):
    return isinstance(value, _Tensor) and _C._wrapper_info(value) is not None


def _is_at(value, level):
    return isinstance(value, _Tensor) and _C._unwrap_level(value, level) is not value


def _under_functionalize(cls, level, args, kwargs):
    """The function one level out, on the present values of its arguments."""
    inner = [_C._functional_value(a, level)[0] if isinstance(a, _Tensor) else a for a in args]
    outputs = _C._call_below_level(lambda: cls.apply(*inner, **kwargs))
    return tree_map_only(_Tensor, lambda t: _C._make_functional(t, level), outputs)


# ---- grad and jvp ----


def _under_grad(cls, level, args, kwargs):
    """The function as an operation of this level, whose forward is the function one level out."""
    from taeda.autograd.function import Function

    def forward(*operands):
        inner = [_C._unwrap_level(x, level) for x in operands]
        outputs = _C._call_below_level(lambda: cls.apply(*inner, **kwargs))
        flat, spec = tree_flatten(outputs)
        return tree_unflatten([_wrapped_again(x, inner, operands, level) for x in flat], spec)

    body = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(cls.setup_context),
        "backward": staticmethod(cls.backward),
        "jvp": staticmethod(cls.jvp),
    }
    at_level = type(cls.__name__, (Function,), body)
    operands = [
        _C._wrap_grad(a, level) if isinstance(a, _Tensor) and not _is_at(a, level) else a
        for a in args
    ]
    return at_level._apply_here(*operands)


def _wrapped_again(value, inner, operands, level):
    """An input that comes back (written in place, say) is the very wrapper it came in."""
    if not isinstance(value, _Tensor):
        return value
    for given, wrapper in zip(inner, operands):
        if value is given:
            return wrapper
    return _C._wrap_grad(value, level)


# ---- vmap ----


def _under_vmap(cls, level, size, randomness, args, kwargs):
    from taeda.autograd.function import Function

    has_rule = cls.vmap is not Function.vmap
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
            "and an "
            "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            f"overridden vmap staticmethod to avoid ambiguity. {_MORE}"
        )
    if not has_rule and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            f"override and implement the vmap staticmethod or set generate_vmap_rule=True. {_MORE}"
        )
    values, dims = zip(*(_unwrap(a, level) for a in args))
    if has_rule:
        info = VmapInfo(size, randomness)
        result = _C._call_below_level(lambda: cls.vmap(info, dims, *values, **kwargs))
        outputs, out_dims = _check_rule_result(result)
    else:
        vmapped, get_out_dims = _vmapped(cls, dims, size, randomness)
        outputs = _C._call_below_level(lambda: vmapped.apply(*values, **kwargs))
        out_dims = get_out_dims()
    return _wrap_outputs(outputs, out_dims, level)


def _unwrap(value, level):
    return _C._unwrap_batched(value, level) if isinstance(value, _Tensor) else (value, None)


def _check_rule_result(result):
    problem = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
        "structure compatible with the output. "
    )
    if not isinstance(result, tuple):
        raise RuntimeError(problem + f"Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(problem + f"Got {len(result)} returns instead")
    return result


def _wrap_outputs(outputs, out_dims, level):
    flat, spec = tree_flatten(outputs)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but output has structure {spec}. "
            + _MORE
        )
    wrapped = [x if d is None else _C._wrap_batched(x, d, level) for x, d in zip(flat, dims)]
    return tree_unflatten(wrapped, spec)


def _at_level(size, randomness, body):
    """Runs `body(level)` with a vmap level active."""
    level = _C._enter_vmap(size, _RANDOMNESS.index(randomness))
    try:
        return body(level)
    finally:
        _C._exit_vmap(level)


def _batched(values, dims, level):
    return [
        x if d is None or x is None else _C._wrap_batched(x, d, level) for x, d in zip(values, dims)
    ]


def _take_apart(tree, level):
    """(values, batch dimensions) of the leaves of a tree, and its spec."""
    flat, spec = tree_flatten(tree)
    pairs = [_unwrap(x, level) for x in flat]
    return [p[0] for p in pairs], [p[1] for p in pairs], spec


class _ExampleCtx:
    """The `ctx` of the user's functions while they run on one example."""

    def __init__(self, saved=()):
        self._kept = ()
        self._kept_forward = ()
        self.saved_tensors = saved

    def save_for_backward(self, *tensors):
        self._kept = tensors

    def save_for_forward(self, *tensors):
        self._kept_forward = tensors

    def mark_dirty(self, *tensors):
        raise RuntimeError(
            "NYI: mark_dirty with generate_vmap_rule=True; override the vmap staticmethod instead."
        )

    def mark_non_differentiable(self, *tensors):
        self._not_differentiable = tensors

    def set_materialize_grads(self, value):
        self._materializes = value


_OWN = {"_kept", "_kept_forward", "saved_tensors", "_not_differentiable", "_materializes"}


def _vmapped(cls, in_dims, size, randomness):
    """A Function over the whole batch made of the one for an example, and its outputs' dims."""
    from taeda.autograd.function import Function

    state = {}

    def forward(*operands):
        def body(level):
            outputs = cls.forward(*_batched(operands, in_dims, level))
            values, dims, spec = _take_apart(outputs, level)
            state["out_dims"] = tree_unflatten(dims, spec)
            state["flat_out_dims"] = dims
            return tree_unflatten(values, spec)

        return _at_level(size, randomness, body)

    def setup_context(ctx, inputs, outputs):
        def body(level):
            flat, spec = tree_flatten(outputs)
            example = _ExampleCtx()
            wrapped = tree_unflatten(_batched(flat, state["flat_out_dims"], level), spec)
            cls.setup_context(example, tuple(_batched(inputs, in_dims, level)), wrapped)
            ctx._saved_dims = [
                _unwrap(t, level)[1] if t is not None else None for t in example._kept
            ]
            ctx.save_for_backward(
                *(t if t is None else _unwrap(t, level)[0] for t in example._kept)
            )
            ctx._forward_saved = [_unwrap(t, level) for t in example._kept_forward]
            ctx._attributes = {
                k: _take_apart(v, level) for k, v in vars(example).items() if k not in _OWN
            }
            ctx._input_shapes = [tuple(x.shape) if isinstance(x, _Tensor) else None for x in inputs]
            if hasattr(example, "_materializes"):
                ctx.set_materialize_grads(example._materializes)

        _at_level(size, randomness, body)

    def example_ctx(ctx, saved, dims, level):
        example = _ExampleCtx(tuple(_batched(saved, dims, level)))
        for name, (values, value_dims, spec) in ctx._attributes.items():
            setattr(example, name, tree_unflatten(_batched(values, value_dims, level), spec))
        example.needs_input_grad = ctx.needs_input_grad
        return example

    def backward(ctx, *grads):
        def body(level):
            example = example_ctx(ctx, ctx.saved_tensors, ctx._saved_dims, level)
            results = cls.backward(example, *_batched(grads, state["flat_out_dims"], level))
            results = results if isinstance(results, tuple) else (results,)
            return [r if r is None else _unwrap(r, level) for r in results]

        results = _at_level(size, randomness, body)
        return tuple(
            _fit(r, d, size, shape)
            for r, d, shape in zip(results, in_dims, ctx._input_shapes, strict=False)
        )

    def jvp(ctx, *tangents):
        def body(level):
            values = [v for v, _ in ctx._forward_saved]
            dims = [d for _, d in ctx._forward_saved]
            example = example_ctx(ctx, values, dims, level)
            outputs = cls.jvp(example, *_batched(tangents, in_dims, level))
            values, dims, spec = _take_apart(outputs, level)
            moved = [
                _to_dim(v, d, wanted, size)
                for v, d, wanted in zip(values, dims, state["flat_out_dims"])
            ]
            return tree_unflatten(moved, spec)

        return _at_level(size, randomness, body)

    body = {
        "forward": staticmethod(forward),
        "setup_context": staticmethod(setup_context),
        "backward": staticmethod(backward),
        "jvp": staticmethod(jvp),
        "generate_vmap_rule": True,
    }
    return type(f"Vmapped{cls.__name__}", (Function,), body), lambda: state["out_dims"]


def _to_dim(value, dim, wanted, size):
    """Moves the batch to where it belongs, making one where there is none."""
    if value is None or wanted is None:
        return value
    if dim is None:
        value, dim = value.unsqueeze(0).expand(size, *value.shape), 0
    return value.movedim(dim, wanted)


def _fit(result, in_dim, size, shape):
    """A gradient in the shape of its argument: summed over the batch the argument did not have."""
    if result is None or shape is None:
        return None
    value, dim = result
    if in_dim is not None:
        return _to_dim(value, dim, in_dim, size)
    if dim is not None:
        value = value.sum(dim)
    return value.sum_to_size(shape) if tuple(value.shape) != shape else value
