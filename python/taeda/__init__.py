"""Taeda: tensors, automatic differentiation and neural networks with PyTorch's interface."""

import sys

from taeda import _C
from taeda._C import *
from taeda._C import Generator, Tensor
from taeda._operator_class import _VariableFunctionsClass
from taeda._rebuild import reduce_generator, set_generator_state
from taeda._shape_functions import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_tensors,
    cartesian_prod,
    meshgrid,
    split,
)
from taeda._tensor import _install
from taeda._value_functions import (
    block_diag,
    chain_matmul,
    norm,
    unique,
    unique_consecutive,
    unravel_index,
)
from taeda._version import __version__
from taeda.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from taeda.functional import cdist, einsum, tensordot
from taeda.overrides import handle_torch_function, has_torch_function_unary

_install(Tensor)
Generator.__reduce__ = reduce_generator
Generator.__setstate__ = set_generator_state
del _install, reduce_generator, set_generator_state

inf = 1e309
nan = inf - inf
e = 2.718281828459045
pi = 3.141592653589793
newaxis = None
return_types = sys.modules["taeda.return_types"] = _C._return_types


def is_storage(obj, /):
    """Whether `obj` is a storage."""
    typed = sys.modules.get("taeda.storage")  # without it there is no such object
    return isinstance(obj, _C.UntypedStorage) or (
        typed is not None and isinstance(obj, typed.TypedStorage)
    )


def _checked_tensor(name, input):
    if not isinstance(input, Tensor):
        given = type(input).__name__
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {given}")
    return input


def is_floating_point(input):
    """Whether the tensor's dtype is a floating point type."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_floating_point, (input,), input)
    return _checked_tensor("is_floating_point", input).is_floating_point()


def is_complex(input):
    """Whether the tensor's dtype is a complex type."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_complex, (input,), input)
    return _checked_tensor("is_complex", input).is_complex()


def is_conj(input):
    """Whether the tensor's conjugate bit is set."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_conj, (input,), input)
    return _checked_tensor("is_conj", input).is_conj()


def is_inference(input):
    """Whether the tensor was made in inference mode."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_inference, (input,), input)
    return input.is_inference()


def is_neg(input):
    """Whether the tensor's negative bit is set."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_neg, (input,), input)
    return input.is_neg()


def is_signed(input):
    """Whether the tensor's dtype has negative numbers."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_signed, (input,), input)
    return _checked_tensor("is_signed", input).is_signed()


def get_device(input):
    """The index of the tensor's device, -1 for the CPU."""
    if has_torch_function_unary(input):
        return handle_torch_function(get_device, (input,), input)
    return _checked_tensor("get_device", input).get_device()


def numel(input):
    """The number of elements of the tensor."""
    if has_torch_function_unary(input):
        return handle_torch_function(numel, (input,), input)
    return _checked_tensor("numel", input).numel()


def is_nonzero(input):
    """Whether the tensor's one element differs from zero."""
    if has_torch_function_unary(input):
        return handle_torch_function(is_nonzero, (input,), input)
    return _checked_tensor("is_nonzero", input).is_nonzero()


def nonzero(input, *, out=None, as_tuple=False):
    """The coordinates of the elements that are not zero: rows, or a vector for each dimension."""
    if has_torch_function_unary(input):
        return handle_torch_function(nonzero, (input,), input, out=out, as_tuple=as_tuple)
    if not as_tuple:
        return _C.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    return input.nonzero_numpy()


def get_rng_state():
    """The state of the default random number generator."""
    return _C.default_generator.get_state()


def set_rng_state(new_state):
    """Sets the state of the default random number generator."""
    _C.default_generator.set_state(new_state)


def _assert(condition, message):
    """Raises AssertionError unless the condition holds; in a trace it becomes a step."""
    if type(condition) is not Tensor and has_torch_function_unary(condition):
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


# Names that live in modules of their own, loaded when first asked for.
_LAZY = {
    "finfo": "_type_info",
    "iinfo": "_type_info",
    "typename": "_type_info",
    "set_printoptions": "_tensor_str",
    "get_printoptions": "_tensor_str",
    "printoptions": "_tensor_str",
    "from_dlpack": "utils.dlpack",
    "_register_device_module": "utils.backend_registration",
    "get_device_module": "utils.backend_registration",
    "AcceleratorError": "_errors",
    "OutOfMemoryError": "_errors",
    "from_file": "_file_tensors",
    "load": "serialization",
    "save": "serialization",
    "TypedStorage": "storage",
    "Storage": "_storage_types",
    "BFloat16Storage": "_storage_types",
    "BoolStorage": "_storage_types",
    "ByteStorage": "_storage_types",
    "CharStorage": "_storage_types",
    "ComplexDoubleStorage": "_storage_types",
    "ComplexFloatStorage": "_storage_types",
    "DoubleStorage": "_storage_types",
    "FloatStorage": "_storage_types",
    "HalfStorage": "_storage_types",
    "IntStorage": "_storage_types",
    "LongStorage": "_storage_types",
    "ShortStorage": "_storage_types",
    "BFloat16Tensor": "_tensor_types",
    "BoolTensor": "_tensor_types",
    "ByteTensor": "_tensor_types",
    "CharTensor": "_tensor_types",
    "DoubleTensor": "_tensor_types",
    "FloatTensor": "_tensor_types",
    "HalfTensor": "_tensor_types",
    "IntTensor": "_tensor_types",
    "LongTensor": "_tensor_types",
    "ShortTensor": "_tensor_types",
    "set_default_tensor_type": "_tensor_types",
    "vmap": "func.batching",
    "cond": "fx.control_flow.branch",
    "while_loop": "fx.control_flow.loop",
    "ops": "_ops",
    "classes": "_classes",
    "ScriptObject": "_classes",
    "Tag": "_ops",
    "sym_float": "_sym",
    "sym_int": "_sym",
    "sym_ite": "_sym",
    "sym_max": "_sym",
    "sym_min": "_sym",
    "sym_not": "_sym",
    "sym_sqrt": "_sym",
    "_sym_sqrt": "_sym",
    **dict.fromkeys((f"_sym_{name}" for name in _C._fx._math_functions), "_sym"),
    "sym_sum": "_sym",
    "sym_constrain_range": "_sym",
    "sym_constrain_range_for_size": "_sym",
    "_check": "_sym",
    "_check_index": "_sym",
    "_check_is_size": "_sym",
    "_check_not_implemented": "_sym",
    "_check_tensor_all": "_sym",
    "_check_tensor_all_with": "_sym",
    "_check_type": "_sym",
    "_check_value": "_sym",
    "_check_with": "_sym",
    "DispatchKey": "library.keys",
    "_disable_dynamo": "compiler",
    "compile": "compiler._compile",
    "are_deterministic_algorithms_enabled": "_settings",
    "get_deterministic_debug_mode": "_settings",
    "get_float32_matmul_precision": "_settings",
    "get_num_interop_threads": "_settings",
    "is_deterministic_algorithms_warn_only_enabled": "_settings",
    "set_deterministic_debug_mode": "_settings",
    "set_float32_matmul_precision": "_settings",
    "set_num_interop_threads": "_settings",
    "use_deterministic_algorithms": "_settings",
    "GradScaler": "amp.grad_scaler",
    "autocast": "amp.autocast_mode",
    "is_autocast_cpu_enabled": "amp.autocast_mode",
    "set_autocast_cpu_enabled": "amp.autocast_mode",
    "get_autocast_cpu_dtype": "amp.autocast_mode",
    "set_autocast_cpu_dtype": "amp.autocast_mode",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "set_autocast_gpu_dtype": "amp.autocast_mode",
}


def __getattr__(name):
    if name.startswith("__") and name not in ("__config__", "__future__"):
        raise AttributeError(f"module 'taeda' has no attribute '{name}'")
    from importlib import import_module

    if name in _LAZY:
        value = getattr(import_module(f"taeda.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    if name in vars(_C) and _C._dispatch.find_overloads(name):
        return getattr(_C, name)  # an operator whose name is private
    try:
        return import_module(f"taeda.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"taeda.{name}":
            raise
    raise AttributeError(f"module 'taeda' has no attribute '{name}'")


# Names of PyTorch's extension module that are Python here: where they are, and what they are there.
_OF_EXTENSION = {
    "BoolType": "_schema_types.BoolType",
    "ComplexType": "_schema_types.ComplexType",
    "DeviceObjType": "_schema_types.DeviceObjType",
    "DispatchKey": "library.keys.DispatchKey",
    "DispatchKeySet": "library.keys.DispatchKeySet",
    "FloatType": "_schema_types.FloatType",
    "IntType": "_schema_types.IntType",
    "ListType": "_schema_types.ListType",
    "NoneType": "_schema_types.NoneType",
    "NumberType": "_schema_types.NumberType",
    "OptionalType": "_schema_types.OptionalType",
    "StringType": "_schema_types.StringType",
    "TensorType": "_schema_types.TensorType",
    "Type": "_schema_types.Type",
    "_LinAlgError": "_errors.LinAlgError",
    "_DisableFuncTorch": "utils._mode_utils._DisableFuncTorch",
    "_EnablePythonDispatcher": "utils._python_dispatch.enable_python_dispatcher",
    "_ExcludeDispatchKeyGuard": "library.keys.ExcludeDispatchKeys",
    "_IncludeDispatchKeyGuard": "library.keys.IncludeDispatchKey",
    "_dispatch_tls_local_exclude_set": "library.keys.excluded_keys",
    "_dispatch_tls_local_include_set": "library.keys.included_keys",
    "_get_deterministic_fill_uninitialized_memory": (
        "_settings._get_deterministic_fill_uninitialized_memory"
    ),
    "_set_deterministic_fill_uninitialized_memory": (
        "_settings._set_deterministic_fill_uninitialized_memory"
    ),
    "_get_tracing_state": "jit._get_tracing_state",
    "_jit_get_all_schemas": "_ops.all_schemas",
    "_log_api_usage_once": "_usage._log_api_usage_once",
    "_profiler.gather_traceback": "utils._traceback.gather_traceback",
    "_profiler.symbolize_tracebacks": "utils._traceback.symbolize_tracebacks",
}


def _of_extension(name):
    if name not in _OF_EXTENSION:
        raise AttributeError(f"module 'taeda._C' has no attribute '{name}'")
    from importlib import import_module

    module, _, own_name = _OF_EXTENSION[name].rpartition(".")
    return getattr(import_module(f"taeda.{module}"), own_name)


_C.__getattr__ = _of_extension
_C._VariableFunctions = _C._VariableFunctionsClass = _VariableFunctionsClass
_C._profiler = sys.modules["taeda._C._profiler"] = type(sys)("taeda._C._profiler")
_C._profiler.__getattr__ = lambda name: _of_extension(f"_profiler.{name}")


def __dir__():
    return sorted({*globals(), *_LAZY, "autograd", "nn"})
