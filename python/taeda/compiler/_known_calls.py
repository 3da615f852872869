"""What functions do that a capture of frames does not enter, as a table from function to kind.

Functions of tensors are nodes of the graph. Of functions of C the table holds those that read their
arguments and nothing else, and methods of containers that change their container and nothing else.
Python functions are entered. A call of anything else is a break.
"""

import _abc
import _bisect
import _heapq
import _random
import builtins
import cmath
import collections
import functools
import inspect
import itertools
import logging
import math
import operator
import re
import sys
import threading
import types
import warnings

import taeda
from taeda import _C, _ops, overrides

__all__ = [
    "CONSTANT",
    "OPERATOR",
    "PURE",
    "UNKNOWN",
    "fill",
    "is_operator",
    "note",
    "note_substitute",
]

UNKNOWN, PURE, MUTATES, OPERATOR, ENTERED, SETS_MODE, CONSTANT, IN_TRANSFORM = range(8)
FUNCTION, BODY, AS_OPERATOR, LOCK, WARNS, NAMESPACE, OPERATORS = range(8, 15)
FUNCTION_MODE, SUBCLASS, REQUIRES_GRAD, HOOK, SETS_OWN_MODE, AFTERWARDS = range(15, 21)

# Builtins that read more than their arguments, or write.
_IMPURE_BUILTINS = {
    "__build_class__",
    "__import__",
    "breakpoint",
    "compile",
    "dir",
    "eval",
    "exec",
    "globals",
    "id",
    "input",
    "locals",
    "open",
    "print",
    "vars",
    "delattr",
    "setattr",
    "memoryview",
    "classmethod",
    "staticmethod",
    "property",
}

_IMMUTABLE_TYPES = (
    *(str, bytes, int, float, bool, complex, tuple, range, slice, frozenset, object),
    types.MappingProxyType,
    *(taeda.Size, taeda.SymInt, taeda.SymFloat, taeda.SymBool),
)
_CONTAINERS = (list, dict, set, collections.OrderedDict, collections.deque, collections.defaultdict)
_READING_METHODS = {
    "copy",
    "count",
    "difference",
    "fromkeys",
    "get",
    "index",
    "intersection",
    "isdisjoint",
    "issubset",
    "issuperset",
    "items",
    "keys",
    "symmetric_difference",
    "union",
    "values",
    "__contains__",
    "__eq__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__iter__",
    "__le__",
    "__len__",
    "__lt__",
    "__ne__",
    "__reversed__",
}

# Methods of tensors that do more than a graph holds, or tell what only a run knows.
_REFUSED_METHODS = {
    "__array__",
    "apply_",
    "map2_",
    "map_",
    "_is_view",
    "storage_offset",
    "is_set_to",
    "__deepcopy__",
    "__dlpack__",
    "__format__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setstate__",
    "__str__",
    "backward",
    "cpu_",
    "data_ptr",
    "is_shared",
    "numpy",
    "pin_memory",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "requires_grad_",
    "retain_grad",
    "set_",
    "share_memory_",
    "storage",
    "untyped_storage",
}


def _functions(module, skipped=()):
    for name, value in vars(module).items():
        if name not in skipped and callable(value) and not name.startswith("_"):
            yield value


def _pure():
    for name, value in vars(builtins).items():
        if callable(value) and name not in _IMPURE_BUILTINS:
            yield value
    for module in (math, cmath, operator, itertools):
        yield from _functions(module)
    yield vars(itertools.chain)["from_iterable"]
    yield from (_bisect.bisect_left, _bisect.bisect_right)
    yield from (vars(str)["maketrans"], vars(bytes)["maketrans"])
    for kind in (re.Pattern, re.Match, type(taeda.float32)):
        for name, value in vars(kind).items():
            if callable(value) and name not in ("__setattr__", "__delattr__", "__reduce_ex__"):
                yield value
    yield from (taeda.promote_types, taeda.can_cast, taeda.is_tensor, taeda.is_floating_point)
    yield from (_abc._abc_instancecheck, _abc._abc_subclasscheck)
    yield from (types.MethodType, types.SimpleNamespace, types.MappingProxyType)
    yield types.FunctionType.__get__
    generator = types.GeneratorType
    yield from (generator.send, generator.throw, generator.close)
    yield from (sys.exc_info, sys.exception, sys.intern, sys.getrecursionlimit)
    yield type.__instancecheck__
    yield type.__subclasscheck__
    guard = _C.DisableTorchFunctionSubclass
    yield from (guard, guard.__enter__, guard.__exit__)
    yield functools.reduce
    yield functools.partial
    yield collections.OrderedDict
    yield collections.deque
    yield collections.defaultdict
    for kind in _IMMUTABLE_TYPES:
        for name, value in vars(kind).items():
            if callable(value) and name not in ("__setattr__", "__delattr__", "__reduce_ex__"):
                yield value
    for kind in _CONTAINERS:
        for name, value in vars(kind).items():
            if name in _READING_METHODS or name == "__new__":
                yield value
    yield from (
        _C.is_grad_enabled,
        _C.get_default_dtype,
        _C.is_inference_mode_enabled,
        _C.is_autocast_enabled,
        _C.get_autocast_dtype,
        _C.is_autocast_cache_enabled,
        _C._is_autocast_available,
        _C._fx.active_tracer,
        _C._saved_tensors_hooks_get_disabled_error_message,
        _C._get_determinism,
        _C._is_torch_function_enabled,
        _C._is_torch_function_all_disabled,
        taeda.finfo,
        taeda.iinfo,
        taeda.device,
        taeda.Size,
    )


def _mutating():
    yield collections._count_elements
    yield from (_bisect.insort_left, _bisect.insort_right)
    yield from _functions(_heapq)
    # Of generators that the captured program made; others are the recipe's to call.
    for name in ("random", "getrandbits", "seed"):
        yield vars(_random.Random)[name]
    for kind in vars(builtins).values():
        if isinstance(kind, type) and issubclass(kind, BaseException) and "__init__" in vars(kind):
            yield kind.__init__
    for kind in _CONTAINERS:
        for name, value in vars(kind).items():
            if callable(value) and name not in _READING_METHODS and name != "__new__":
                yield value


def _operators():
    from taeda.overrides import get_overridable_functions

    for functions in get_overridable_functions().values():
        yield from functions
    for module in (_C._nn, _C._special, _C._linalg):
        for name in dir(module):
            yield getattr(module, name)
    # Factories, which no argument overrides.
    for name, value in vars(_C).items():
        if isinstance(value, types.BuiltinFunctionType) and hasattr(taeda.ops.aten, name):
            yield value
    yield from (taeda.tensor, taeda.as_tensor, taeda.asarray, taeda.broadcast_shapes)
    yield from (taeda.result_type, taeda.is_storage, taeda.numel)
    # The recorder's own function mode is none of the program's.
    yield from (_C._has_torch_function, _C._has_torch_function_unary)
    yield _C._has_torch_function_variadic
    # Tensors inside of function transforms.
    for name in ("wrap_grad", "track_grad", "wrap_batched", "unwrap_level", "unwrap_batched"):
        yield getattr(_C, f"_{name}")
    yield from (_C._make_dual, _C._unpack_dual)


def _mode_setters():
    for name in (
        *("_set_grad_enabled", "_set_inference_mode", "_set_fwd_grad_enabled"),
        *("set_autocast_enabled", "set_autocast_dtype", "set_autocast_cache_enabled"),
        *("autocast_increment_nesting", "autocast_decrement_nesting", "clear_autocast_cache"),
        *("_enter_grad", "_enter_jvp", "_exit_grad", "_enter_vmap", "_exit_vmap"),
        *("_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable", "_set_determinism"),
    ):
        if hasattr(_C, name):
            yield getattr(_C, name)
    yield from (taeda.device.__enter__, taeda.device.__exit__)


def kinds():
    """The table."""
    table = {}
    for kind, functions in (
        (PURE, _pure()),
        (MUTATES, _mutating()),
        (OPERATOR, _operators()),
    ):
        for function in functions:
            try:
                table[function] = kind
            except TypeError:
                continue
    for name in _REFUSED_METHODS:
        function = getattr(_C.Tensor, name, None)
        if function is not None:
            table[function] = UNKNOWN
    for function in _mode_setters():
        table[function] = SETS_MODE
    table[_C._run_backward] = IN_TRANSFORM
    table[vars(_C._FunctionBase)["apply"]] = FUNCTION
    table[_C._dynamo.capture_body] = BODY
    table[warnings.warn] = WARNS
    table[type(taeda.ops)] = table[type(taeda.ops.aten)] = NAMESPACE
    table[_ops.OpOverloadPacket] = table[_ops.OpOverload] = OPERATORS
    table[_C._dynamo.as_operator] = AS_OPERATOR
    table[_C._push_on_torch_function_stack] = table[_C._pop_torch_function_stack] = FUNCTION_MODE
    table[_C.Tensor.as_subclass] = SUBCLASS
    table[_C.Tensor.requires_grad_] = REQUIRES_GRAD
    table[_C.Tensor.register_hook] = HOOK
    table[_C.Tensor.data_ptr] = AFTERWARDS
    for lock in (threading.Lock, threading.RLock):
        kind = type(lock())
        table[kind.__enter__] = table[kind.__exit__] = LOCK
    table[taeda.nn.Module.__call__] = ENTERED
    from taeda.compiler import _marks

    for function in (taeda.compiler.graph_break, _marks.skip_frame, _marks.step_unsupported):
        table[function] = UNKNOWN
    # Sizes of packed sequences are data: one break in place of several with little between them.
    packing = taeda.nn.utils.rnn
    for function in (packing.pack_padded_sequence, packing.pad_packed_sequence):
        table[function] = UNKNOWN
    table[taeda.nn.RNNBase._forward_packed] = UNKNOWN
    table[_C._dynamo.set_fails_at_breaks] = SETS_OWN_MODE
    table[collections.namedtuple] = table[overrides._keeps_class] = CONSTANT
    table[inspect.signature] = CONSTANT
    for name in ("is_capturing", "is_in_region", "is_unbacked", "holds_tensor"):
        table[getattr(_C._dynamo, name)] = PURE
    # Reads the stack, the clock and the process for each record.
    table[logging.Logger._log] = UNKNOWN
    table.update(_noted)
    return table


_is_filled = False
_noted = {}
_substitutes = {}
_operators_of_package = None


def note(function, kind):
    """What a program says about its own function."""
    _noted[function] = kind
    if _is_filled:
        _C._dynamo.set_known_calls({function: kind})


def note_substitute(function, substitute):
    """Captures enter another function in place of one; whether it had none so far."""
    from taeda.compiler._substitutes import SUBSTITUTES

    if function in _substitutes or function in SUBSTITUTES:
        return False
    _substitutes[function] = substitute
    _C._dynamo.substitute(function, substitute)
    return True


def is_operator(function):
    """Whether calls of a function are nodes of graphs."""
    global _operators_of_package
    if _operators_of_package is None:
        _operators_of_package = {id(one): one for one in _operators()}
    is_named = isinstance(function, (_ops.OpOverloadPacket, _ops.OpOverload))
    if function in _noted:
        return _noted[function] == OPERATOR
    return is_named or id(function) in _operators_of_package


def fill():
    """Tells the capture, once."""
    global _is_filled
    if not _is_filled:
        # The capture looks into these; an import inside of it would let other threads run.
        import taeda.compiler._capture
        import taeda.compiler._errors  # noqa: F401
        from taeda.compiler import _substitutes, _value_substitutes

        _C._dynamo.set_known_calls(kinds())
        for module in (_substitutes, _value_substitutes):
            for function, substitute in module.SUBSTITUTES.items():
                _C._dynamo.substitute(function, substitute)
        _is_filled = True
