"""What functions do that a capture of frames does not enter, as tables from function to kind.

There is a table for each module, made when a capture meets a function of it: what no program calls
is neither imported nor looked at.

Functions of tensors are nodes of the graph. Of functions of C the tables hold those that read their
arguments and nothing else, and methods of containers that change their container and nothing else.
Python functions are entered. A call of anything else is a break.
"""

import builtins
import collections
import sys
import types

import taeda
from taeda import _C

__all__ = [
    "CONSTANT",
    "IGNORED",
    "OPERATOR",
    "PURE",
    "REORDERED",
    "UNKNOWN",
    "is_operator",
    "note",
    "note_substitute",
    "table_of",
    "tell",
]

UNKNOWN, PURE, MUTATES, OPERATOR, ENTERED, SETS_MODE, CONSTANT, IN_TRANSFORM = range(8)
FUNCTION, BODY, AS_OPERATOR, LOCK, WARNS, NAMESPACE, OPERATORS = range(8, 15)
FUNCTION_MODE, SUBCLASS, REQUIRES_GRAD, HOOK, SETS_OWN_MODE, AFTERWARDS = range(15, 21)
REORDERED, IGNORED, BOUND_TO, UNDIVIDED, INITIALIZES, NUMBER, READS = range(21, 28)
REMOVES_HOOK, ADDS = range(28, 30)
MAKES_WRAPPER, OF_HANDLERS, TOLD = range(30, 33)

# Builtins that read more than their arguments, or write.
_IMPURE_BUILTINS = {
    "__build_class__",
    "__import__",
    "__loader__",
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
)
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

# Of containers that keep what they have.
_ADDING_METHODS = {
    list: ("append", "extend", "insert"),
    set: ("add",),
}

# Methods of tensors that do more than a graph holds, or tell what only a run knows.
_REFUSED_METHODS = {
    "__array__",
    "apply_",
    "map2_",
    "map_",
    "_is_view",
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


_LOG_LEVELS = ("debug", "info", "warning", "error", "exception", "critical")

# Where captures enter another function: names by module, and the module of substitutes.
_SUBSTITUTES = {
    "_functools": {"cmp_to_key": "_value_substitutes"},
    "builtins": dict.fromkeys(
        ("object.__reduce_ex__", "set.__reduce__", "frozenset.__reduce__"), "_value_substitutes"
    ),
    "copy": {"deepcopy": "_value_substitutes"},
    "operator": dict.fromkeys(
        ("attrgetter.__call__", "methodcaller.__call__"), "_value_substitutes"
    ),
    "logging": dict.fromkeys(
        (
            "Logger.isEnabledFor",
            "Logger.log",
            *(f"{owner}{level}" for owner in ("Logger.", "") for level in _LOG_LEVELS),
        ),
        "_log_calls",
    ),
    "re": {"_compile": "_pattern_substitutes"},
    "taeda": {"get_rng_state": "_random_substitutes", "set_rng_state": "_random_substitutes"},
    "taeda._C": {
        "_DisableTorchDispatch": "_scope_substitutes",
        "_disabled_torch_function_impl": "_scope_substitutes",
        "manual_seed": "_random_substitutes",
        "tensor": "_value_substitutes",
    },
    "taeda._sym": dict.fromkeys(
        ("_check_tensor_all", "_check_tensor_all_with", "_check_with"), "_value_substitutes"
    ),
    "taeda.compiler": dict.fromkeys(
        ("is_compiling", "is_dynamo_compiling", "is_exporting"), "_scope_substitutes"
    ),
    "taeda.compiler._compile": {"compile": "_scope_substitutes"},
    "taeda.fx.control_flow._capture": dict.fromkeys(
        ("ControlFlow.dispatch", "closed_graphs"), "_control_flow_substitutes"
    ),
    "taeda.fx.control_flow.branch": {"cond": "_substitutes"},
    "taeda.fx.symbolic.marks": {"mark_static": "_value_substitutes"},
    "taeda.nn.attention.flex_attention": {"flex_attention": "_substitutes"},
    "taeda.utils.checkpoint": {"checkpoint": "_substitutes"},
    "taeda.utils.hooks": {"BackwardHook": "_module_hooks"},
}


# ---- modules of Python ----


def _methods(kind, skipped=("__setattr__", "__delattr__", "__reduce_ex__")):
    for name, value in vars(kind).items():
        if callable(value) and name not in skipped:
            yield value


def _container_methods(kind):
    """Methods that read their container, and those that write to it."""
    for name, value in vars(kind).items():
        if name in _READING_METHODS or name == "__new__":
            yield value, PURE
        elif callable(value):
            yield value, ADDS if name in _ADDING_METHODS.get(kind, ()) else MUTATES


def _builtins():
    for name, value in vars(builtins).items():
        # Tools and programs put functions of their own there.
        if isinstance(value, (types.BuiltinFunctionType, type)) and name not in _IMPURE_BUILTINS:
            yield value, PURE
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        if is_error and "__init__" in vars(value):
            yield value.__init__, MUTATES
    for kind in _IMMUTABLE_TYPES:
        yield from _as(PURE, *_methods(kind))
    for kind in (list, dict, set):
        yield from _container_methods(kind)
    for made in ({}, collections.OrderedDict()):
        for view in (made.keys(), made.values(), made.items()):
            yield from _as(PURE, *_methods(type(view)))
    yield from _as(PURE, vars(str)["maketrans"], vars(bytes)["maketrans"])
    yield from _as(PURE, types.MethodType, types.MappingProxyType, types.FunctionType.__get__)
    yield print, TOLD
    generator = types.GeneratorType
    yield from _as(PURE, generator.send, generator.throw, generator.close)
    coroutine = types.CoroutineType
    yield from _as(PURE, coroutine.send, coroutine.throw, coroutine.close)
    yield from _as(MUTATES, BaseException.add_note, BaseException.with_traceback)
    yield from _as(PURE, type.__instancecheck__, type.__subclasscheck__, type.mro)
    # What tensors do of their own accord.
    yield from _as(UNKNOWN, object.__str__, object.__reduce__)


def _as(kind, *functions):
    return [(function, kind) for function in functions]


def _all_pure(module):
    for name, value in vars(module).items():
        if callable(value) and not name.startswith("_"):
            yield value, PURE


def _collections(module):
    for kind in (module.OrderedDict, module.deque, module.defaultdict):
        yield kind, PURE
        yield from _container_methods(kind)
    yield module.namedtuple, CONSTANT


def _bisect(module):
    yield from _as(PURE, module.bisect_left, module.bisect_right)
    yield from _as(MUTATES, module.insort_left, module.insort_right)


def _random(module):
    # Of generators that the captured program made; others are the recipe's to call.
    return _as(MUTATES, *(vars(module.Random)[name] for name in ("random", "getrandbits", "seed")))


def _regular_expressions(module):
    return _as(PURE, *_methods(module.Pattern), *_methods(module.Match))


def _templates(module):
    """What a pattern's sub makes of a text with groups: an object of C since Python 3.12."""
    return _as(PURE, module.template) if hasattr(module, "template") else ()


def _locks(module):
    for make in (module.allocate_lock, module.RLock):
        kind = type(make())
        yield from _as(LOCK, kind.__enter__, kind.__exit__)


def _paths(module):
    """Paths say what they are by methods of Python, and since 3.12 take texts apart in C."""
    for name in ("fspath", "_path_normpath", "_path_splitroot", "_path_splitroot_ex"):
        if hasattr(module, name):
            yield getattr(module, name), PURE


def _json(module):
    # What these classes make is called, and reads its arguments.
    yield from _all_pure(module)
    yield from _as(PURE, module.make_scanner)
    yield from _as(READS, module.make_encoder)


def _operators_of_objects(module):
    yield from _all_pure(module)
    yield from _as(PURE, module.attrgetter.__reduce__, module.methodcaller.__reduce__)


def _itertools(module):
    yield from _all_pure(module)
    yield vars(module.chain)["from_iterable"], PURE


# ---- modules of the package ----


def _tensors(module):
    """Methods of tensors, and the classes of what they are made of."""
    from taeda._overridable_functions import _NOT_METHODS

    for name, value in vars(_C.Tensor).items():
        if name in _NOT_METHODS or isinstance(value, types.GetSetDescriptorType):
            continue
        if callable(value):
            yield getattr(_C.Tensor, name), OPERATOR
    for name in _REFUSED_METHODS:
        if name in vars(_C.Tensor):
            yield getattr(_C.Tensor, name), UNKNOWN
    yield from _as(SUBCLASS, _C.Tensor.as_subclass, _C.Tensor._make_subclass)
    yield _C.Tensor._make_wrapper_subclass, MAKES_WRAPPER
    yield _C.Tensor.requires_grad_, REQUIRES_GRAD
    yield from _as(HOOK, _C.Tensor.register_hook, _C.Tensor.register_post_accumulate_grad_hook)
    yield _C.Tensor.data_ptr, AFTERWARDS


def _package(module):
    yield from _tensors(module)
    for kind in (taeda.Size, taeda.SymInt, taeda.SymFloat, taeda.SymBool, type(taeda.float32)):
        yield from _as(PURE, *_methods(kind))
    yield from _as(PURE, taeda.finfo, taeda.iinfo, taeda.device, taeda.Size)
    yield from _as(SETS_MODE, taeda.device.__enter__, taeda.device.__exit__)
    yield from _overridable(module)
    yield from _as(OPERATOR, taeda.is_storage, taeda.numel)


_MODE_SETTERS = (
    *("_set_grad_enabled", "_set_inference_mode", "_set_fwd_grad_enabled"),
    *("set_autocast_enabled", "set_autocast_dtype", "set_autocast_cache_enabled"),
    *("autocast_increment_nesting", "autocast_decrement_nesting", "clear_autocast_cache"),
    *("_enter_grad", "_enter_jvp", "_exit_grad", "_enter_vmap", "_exit_vmap"),
    *("_enter_dual_level", "_exit_dual_level"),
    *("_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable", "_set_determinism"),
    *("set_default_dtype", "set_default_device"),
)
_READERS_OF_MODES = (
    *("is_grad_enabled", "get_default_dtype", "get_default_device", "is_inference_mode_enabled"),
    *("is_autocast_enabled", "get_autocast_dtype", "is_autocast_cache_enabled"),
    *("_is_autocast_available", "_saved_tensors_hooks_get_disabled_error_message"),
    *("_get_determinism", "_is_torch_function_enabled", "_is_torch_function_all_disabled"),
    *("promote_types", "can_cast", "is_tensor", "_has_values"),
)
_FORMS_OF_ATTENTION = ("math", "flash", "mem_efficient", "cudnn", "overrideable")
# Factories, which no argument overrides, and tensors inside of function transforms. The recorder's
# own function mode is none of the program's.
_OTHER_OPERATORS = (
    *("tensor", "as_tensor", "asarray", "broadcast_shapes", "result_type"),
    *("_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic"),
    *("_wrap_grad", "_track_grad", "_wrap_batched", "_unwrap_level", "_unwrap_batched"),
    *("_remove_batch", "_make_dual", "_unpack_dual"),
)


def _extension(module):
    is_operator = _C._dispatch.find_overloads
    for name, value in vars(_C).items():
        if isinstance(value, types.BuiltinFunctionType) and is_operator(name):
            yield value, OPERATOR
    yield from _as(OPERATOR, *(getattr(_C, name) for name in _OTHER_OPERATORS))
    yield from _as(PURE, *(getattr(_C, name) for name in _READERS_OF_MODES))
    yield from _as(SETS_MODE, *(getattr(_C, name) for name in _MODE_SETTERS if hasattr(_C, name)))
    for name in _FORMS_OF_ATTENTION:
        yield getattr(_C, f"_get_{name}_sdp_enabled"), PURE
        yield getattr(_C, f"_set_sdp_use_{name}"), SETS_MODE
    guard = _C.DisableTorchFunctionSubclass
    yield from _as(PURE, guard, guard.__enter__, guard.__exit__)
    for guard in (_C._DisableTorchDispatch, _C._RestorePythonTLSSnapshot):
        yield from _as(OF_HANDLERS, guard, guard.__enter__, guard.__exit__)
    yield _C._disabled_torch_dispatch_impl, OF_HANDLERS
    yield from _as(OF_HANDLERS, _C._is_memoryless, _C._set_storage_of, _C._set_geometry_of)
    yield _C._run_backward, IN_TRANSFORM
    yield vars(_C._FunctionBase)["apply"], FUNCTION
    yield from _as(FUNCTION_MODE, _C._push_on_torch_function_stack, _C._pop_torch_function_stack)


def _all_operators(module):
    return _as(OPERATOR, *(v for v in vars(module).values() if callable(v)))


def _extension_of_captures(module):
    yield from _as(PURE, module.is_capturing, module.is_in_region, module.holds_tensor)
    yield from _as(PURE, module.is_unbacked, module.is_symbol)
    yield module.capture_body, BODY
    yield module.as_operator, AS_OPERATOR
    yield module.bound_to, BOUND_TO
    yield module.set_undivided, UNDIVIDED
    yield module.set_fails_at_breaks, SETS_OWN_MODE
    yield module.set_disabled, TOLD


def _names_of_operators(module):
    yield from _as(NAMESPACE, type(module.ops), type(module.ops.aten))
    yield from _as(OPERATORS, module.OpOverloadPacket, module.OpOverload)


def _overridable(module):
    """Functions of Python that ask their arguments, under a name that is public."""
    from taeda._overridable_functions import _hands_over

    places = [taeda, *map(sys.modules.get, ("taeda.nn.functional", "taeda.linalg"))]
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, types.FunctionType):
            continue
        is_public = any(place and vars(place).get(name) is value for place in places)
        is_public = is_public or f"taeda.{taeda._LAZY.get(name)}" == module.__name__
        if is_public and _hands_over(value):
            yield value, OPERATOR


def _methods_and_functions(module):
    yield from _tensors(module)
    yield from _overridable(module)


def _warnings(module):
    yield from _as(WARNS, module.warn)
    # Behind it warnings are told again, by the filters of then.
    yield from _as(REORDERED, module._filters_mutated)


# What is known of the functions of a module, by its name.
_TABLES = {
    "_abc": lambda m: _as(PURE, m._abc_instancecheck, m._abc_subclasscheck),
    "_bisect": _bisect,
    "_collections": lambda m: _as(MUTATES, m._count_elements),
    "_functools": lambda m: _as(PURE, m.reduce),
    "_json": _json,
    # heapq.nlargest calls those with an underscore.
    "_heapq": lambda m: _as(MUTATES, *(v for n, v in vars(m).items() if "heap" in n)),
    "_operator": _all_pure,
    "_random": _random,
    "_sre": _templates,
    "_struct": lambda m: _as(READS, m.pack, m.unpack, m.unpack_from, m.iter_unpack, m.calcsize),
    "_thread": _locks,
    "_warnings": _warnings,
    "builtins": lambda m: _builtins(),
    "cmath": _all_pure,
    "collections": _collections,
    "datetime": lambda m: _as(PURE, m.timedelta, *_methods(m.timedelta)),
    "functools": lambda m: _as(PURE, m.partial),
    "inspect": lambda m: _as(CONSTANT, m.signature),
    "itertools": _itertools,
    # A record reads the stack, the clock and the process; a logger is the same at every call.
    "logging": lambda m: [(m.Logger._log, TOLD), (m.getLogger, CONSTANT)],
    "math": _all_pure,
    "operator": _operators_of_objects,
    "posix": _paths,
    "re": _regular_expressions,
    "sys": lambda m: _as(PURE, m.exc_info, m.exception, m.intern, m.getrecursionlimit),
    "taeda": _package,
    "taeda._C": _extension,
    "taeda._C._dynamo": _extension_of_captures,
    "taeda._C._fx": lambda m: _as(PURE, m.active_tracer),
    "taeda._C._linalg": _all_operators,
    "taeda._C._nn": _all_operators,
    "taeda._C._special": _all_operators,
    "taeda._element_functions": _methods_and_functions,
    "taeda._ops": _names_of_operators,
    "taeda._pinned_memory": _methods_and_functions,
    "taeda._tensor": _methods_and_functions,
    "taeda._value_functions": _methods_and_functions,
    # What it sees is what a plain run saves, so its block is run as it is.
    "taeda.autograd.graph": lambda m: _as(UNKNOWN, m.saved_tensors_hooks.__enter__),
    "taeda.compiler": lambda m: _as(UNKNOWN, m.graph_break),
    "taeda.compiler._capture": lambda m: _as(REMOVES_HOOK, m.remove_hook),
    "taeda.compiler._marks": lambda m: _as(UNKNOWN, m.skip_frame, m.step_unsupported),
    "taeda.compiler._pattern_substitutes": lambda m: _as(CONSTANT, m.made_pattern),
    # Integers of loops, which compiled programs have whatever they say of numbers from data.
    "taeda.fx.control_flow.loop": lambda m: _as(NUMBER, m.carried_number),
    "taeda.nn.modules._conversion": lambda m: _as(OPERATOR, m._parse_to),
    # Sizes of packed sequences are data: one break in place of several with little between them.
    "taeda.nn.modules._rnn_base": lambda m: _as(UNKNOWN, m.RNNBase._forward_packed),
    "taeda.nn.modules.lazy": lambda m: _as(INITIALIZES, m.LazyModuleMixin._infer_parameters),
    "taeda.nn.modules.module": lambda m: _as(ENTERED, m.Module.__call__),
    "taeda.nn.utils.rnn": lambda m: _as(UNKNOWN, m.pack_padded_sequence, m.pad_packed_sequence),
    # Files and pickles: nothing inside belongs to a graph, and half a call writes half a file.
    "taeda.serialization._load": lambda m: _as(UNKNOWN, m.load),
    "taeda.serialization._save": lambda m: _as(UNKNOWN, m.save),
    "taeda.overrides": lambda m: _as(CONSTANT, m._keeps_class),
    "types": lambda m: _as(PURE, m.SimpleNamespace),
}


def _is_of(function, name):
    """Whether a function under a name of a module is not the program's, put in its place."""
    if isinstance(function, types.FunctionType):
        owner = function.__globals__.get("__name__")
    else:
        owner = getattr(getattr(function, "__objclass__", function), "__module__", None)
    if not isinstance(owner, str):
        owner = type(function).__module__
    root = owner.partition(".")[0].lstrip("_")
    return root in (name.partition(".")[0].lstrip("_"), "builtins", "torch")


def _read_table(name):
    """(what is known of the functions of a module, whether some are the program's instead)."""
    module = sys.modules.get(name)
    make = _TABLES.get(name, _overridable if name.startswith("taeda.") else None)
    table, is_patched = {}, False
    for function, kind in make(module) if make and module else ():
        if not _is_of(function, name):
            is_patched = True
            continue
        try:
            table[function] = kind
        except TypeError:
            continue
    return table, is_patched


def table_of(name):
    """What is known of the functions of a module that is imported, by function."""
    return _read_table(name)[0]


def tell(name):
    """Tells the capture about the functions of a module; whether it told of all of them."""
    from operator import attrgetter

    if name == "torch" or name.startswith("torch."):  # what the package is called under `taeda run`
        name = "taeda" + name[len("torch") :]
    table, is_patched = _read_table(name)
    _C._dynamo.add_known_calls(table)
    for function, place in _SUBSTITUTES.get(name, {}).items():
        own = attrgetter(function)(sys.modules[name])
        if not _is_of(own, name):
            is_patched = True
        elif own not in _noted_substitutes:
            _C._dynamo.substitute(own, f"taeda.compiler.{place}")
    return not is_patched


_noted = {}
_noted_substitutes = {}
_operators_of_package = None


def note(function, kind):
    """What a program says about its own function."""
    _noted[function] = kind
    _C._dynamo.set_known_call(function, kind)


def note_substitute(function, substitute):
    """Captures enter another function in place of one; whether it had none so far."""
    if _C._dynamo.has_substitute(function):
        return False
    _noted_substitutes[function] = substitute
    _C._dynamo.substitute(function, substitute)
    return True


def _operators():
    """Functions of the package whose calls are nodes."""
    from taeda.overrides import get_overridable_functions

    for functions in get_overridable_functions().values():
        yield from functions
    for name in ("taeda", "taeda._C", "taeda._C._nn", "taeda._C._special", "taeda._C._linalg"):
        for function, kind in table_of(name).items():
            if kind == OPERATOR:
                yield function


def is_operator(function):
    """Whether calls of a function are nodes of graphs."""
    global _operators_of_package
    from taeda._ops import OpOverload, OpOverloadPacket

    if _operators_of_package is None:
        _operators_of_package = {id(one): one for one in _operators()}
    is_named = isinstance(function, (OpOverloadPacket, OpOverload))
    if function in _noted:
        return _noted[function] == OPERATOR
    return is_named or id(function) in _operators_of_package
