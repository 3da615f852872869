"""Lowerings of a program's own, by PyTorch's names.

    @register_lowering(taeda.ops.mylib.double.default)
    def double(x):
        return lowerings[aten.mul.Tensor](x, 2)

A lowering is a function of tensors that calls operators which have one; it is called once for each
call in a graph, with tensors of a trace. What it calls becomes part of kernels. It gives what the
operator gives: a tensor, or a tuple or list of them.
"""

import taeda
from taeda import _C
from taeda._ops import OpOverload, OpOverloadPacket
from taeda.compiler._errors import LoweringException
from taeda.utils import _pytree as pytree

from ._patterns import MULTIPLE, CallFunctionVarArgs
from .pattern_matcher import PatternMatcherPass, register_lowering_pattern

__all__ = ["fallbacks", "lowerings", "make_fallback", "register_lowering"]

# Operators that are called as they are, though the compiler knows better.
fallbacks = set()


class _Lowerings(dict):
    """By operator its lowering; an operator without one of the program's own stands for itself."""

    def __missing__(self, op):
        if not isinstance(op, (OpOverload, OpOverloadPacket)):
            raise KeyError(op)
        return op


lowerings = _Lowerings()
_at_work = []  # operators whose lowering runs


def _overloads(ops):
    for op in ops if isinstance(ops, (list, tuple)) else [ops]:
        if isinstance(op, OpOverloadPacket):
            yield from (getattr(op, name) for name in op.overloads())
        elif isinstance(op, OpOverload):
            yield op
        else:
            raise RuntimeError(f"Unsupported fallback {op} with type {type(op)}")


def register_lowering(
    aten_fn,
    broadcast=False,
    type_promotion_kind=None,
    convert_input_to_bool=False,
    lowering_dict=lowerings,
):
    """Computes an operator, the overloads of a packet, or several of them, by the function below.

    Operators that it calls broadcast and promote by themselves, whatever the flags say.
    """

    def decorator(function):
        for op in _overloads(aten_fn):
            lowering_dict[op] = function
            if lowering_dict is lowerings:
                fallbacks.discard(op)
        return function

    return decorator


def make_fallback(op, layout_constraint=None, warn=True, override_decomp=False, get_decomp_fn=None):
    """Has an operator called as it is."""
    for one in _overloads(op):
        lowerings.pop(one, None)
        fallbacks.add(one)


def _is_given(result, args, kwargs):
    """Whether a result looks at the memory of an operand."""
    storage = result.untyped_storage()._cdata
    return any(
        isinstance(leaf, _C.Tensor) and leaf.untyped_storage()._cdata == storage
        for leaf in pytree.tree_leaves((args, kwargs))
    )


def _checked(op, result, like):
    """The result of a lowering; TypeError or RuntimeError unless it is like the operator's."""
    if isinstance(like, (list, tuple)):
        if not isinstance(result, (list, tuple)):
            raise TypeError(
                f"the lowering of {op} gave {type(result).__name__}, expected {len(like)} tensors"
            )
        if len(result) != len(like):
            raise RuntimeError(
                f"the lowering of {op} gave {len(result)} results, expected {len(like)}"
            )
        return [_checked(op, *pair) for pair in zip(result, like, strict=True)]
    if not isinstance(result, _C.Tensor):
        raise TypeError(f"the lowering of {op} gave {result!r}, expected a tensor")
    if result.shape != like.shape or result.dtype != like.dtype:
        raise RuntimeError(
            f"the lowering of {op} gave a tensor of {tuple(result.shape)}, {result.dtype}, "
            f"expected {tuple(like.shape)}, {like.dtype}"
        )
    return _laid_out(result, like)


def _laid_out(result, like):
    """The result with the strides of another tensor, where they differ: code behind may ask."""
    axes = list(zip(like.shape, result.stride(), like.stride(), strict=True))
    if all(size == 1 or own == other for size, own, other in axes) or 0 in like.stride():
        return result
    like = result.new_empty_strided(like.shape, like.stride())
    return taeda.ops.aten.copy.default(like, result)


def _check_pure(op):
    if op._schema.is_mutable:
        raise NotImplementedError(f"{op} writes to its arguments; such operators are called")


def _versions(args, kwargs):
    """How often each tensor among arguments was written to."""
    leaves = pytree.tree_leaves((args, kwargs))
    return [leaf._version for leaf in leaves if isinstance(leaf, _C.Tensor)]


def lower_graph(graph):
    """Puts the program's own lowerings in the place of what they lower, and marks fallbacks."""
    for op, function in list(lowerings.items()):
        if op in _at_work:
            continue  # a lowering that calls its own operator means the compiler's
        found = PatternMatcherPass()

        def lower(match, *args, op=op, function=function, **kwargs):
            try:
                _check_pure(op)
                versions = _versions(args, kwargs)
                like = match.output_node().meta["val"]
                result = _checked(op, function(*args, **kwargs), like)
                if _versions(args, kwargs) != versions:
                    raise RuntimeError(f"the lowering of {op} writes to an argument, {op} does not")
            except Exception as error:
                raise LoweringException(error, op, args, kwargs) from error
            # An operand, or a view of one, is no result of a graph.
            return pytree.tree_map(lambda t: t.clone() if _is_given(t, args, kwargs) else t, result)

        register_lowering_pattern(CallFunctionVarArgs(op, users=MULTIPLE), pass_dict=found)(lower)
        _at_work.append(op)
        try:
            found.rewrite(graph)
        finally:
            _at_work.pop()
    for node in graph.find_nodes(op="call_function"):
        if node.target in fallbacks:
            node.meta["is_fallback"] = True


def passes():
    """The pass over graphs before they are lowered; none where the program has no lowerings."""
    return [lower_graph] if lowerings or fallbacks else []
