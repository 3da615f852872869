// Settings of the process and the thread: default dtype and device, threads, seeds, grad mode.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/seeds.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/fx/fx_types.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/backends/device_kernels.h"
#include "taeda/base/parallel.h"
#include "taeda/core/determinism.h"
#include "taeda/ops/shape.h"

namespace taeda::python {

namespace {

PyObject* none() { return Py_NewRef(Py_None); }

PyObject* set_default_dtype_function(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(
        is_dtype(o) && !PyType_Check(o),
        "invalid dtype object: only floating-point types are supported as the default type");
    const DType t = to_dtype(o);
    TAEDA_CHECK_TYPE(is_floating(t), "only floating-point types are supported as the default type");
    set_default_dtype(t);
    return none();
  });
}
PyObject* get_default_dtype_function(PyObject*, PyObject*) { return wrap(default_dtype()); }

PyObject* set_default_device_function(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(o == Py_None || is_device(o),
                     "set_default_device(): expected a torch.device, got ", Py_TYPE(o)->tp_name);
    set_default_device(o == Py_None ? Device() : to_device(o));
    return none();
  });
}
PyObject* get_default_device_function(PyObject*, PyObject*) { return wrap(default_device()); }

PyObject* set_num_threads_function(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK(is_integer(o), "set_num_threads expects an int, but got ", Py_TYPE(o)->tp_name);
    const int64_t n = to_int64(o);
    TAEDA_CHECK(n > 0, "set_num_threads expects a positive integer");
    set_num_threads(static_cast<int>(n));
    return none();
  });
}
PyObject* get_num_threads_function(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* get_determinism(PyObject*, PyObject*) {
  const Determinism& d = determinism();
  return Py_BuildValue("(NNN)", wrap(d.is_required.load()), wrap(d.is_warning_enough.load()),
                       wrap(d.fills_memory.load()));
}
PyObject* set_determinism(PyObject*, PyObject* args) {
  int is_required, is_warning_enough, fills_memory;
  if (!PyArg_ParseTuple(args, "ppp", &is_required, &is_warning_enough, &fills_memory))
    return nullptr;
  determinism().is_required = is_required != 0;
  determinism().is_warning_enough = is_warning_enough != 0;
  determinism().fills_memory = fills_memory != 0;
  return none();
}

PyObject* manual_seed(PyObject*, PyObject* seed) {
  return guarded([&] {
    Ref integer(checked(PyNumber_Long(seed)));
    const uint64_t bits = to_seed(integer.get());
    default_cpu_generator().manual_seed(bits);
    devices::seed_devices(bits);
    Ref module(checked(PyImport_ImportModule("taeda._C")));
    return PyObject_GetAttrString(module.get(), "default_generator");
  });
}
PyObject* seed(PyObject*, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(default_cpu_generator().seed()); });
}
PyObject* initial_seed(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(default_cpu_generator().initial_seed());
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return wrap(autograd::grad_enabled()); }
PyObject* set_grad_enabled(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyBool_Check(o),
                     "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not ",
                     Py_TYPE(o)->tp_name);
    autograd::set_grad_enabled(o == Py_True);
    note_grad_mode(o == Py_True);
    return none();
  });
}
PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return wrap(is_inference_mode()); }
PyObject* set_inference_mode_function(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyBool_Check(o), "expected a bool, not ", Py_TYPE(o)->tp_name);
    set_inference_mode(o == Py_True);
    return none();
  });
}

const Param two_dtypes[] = {{"type1", ParamType::DType}, {"type2", ParamType::DType}};
const Signature promote_signature[] = {{"(torch.dtype type1, torch.dtype type2)", two_dtypes, 2}};
PyObject* promote_types_function(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                                 PyObject* kwnames) {
  Args args;
  if (parse_function("promote_types", promote_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] { return wrap(promote_types(args.dtype(0), args.dtype(1))); });
}
const Param cast_params[] = {{"from_", ParamType::DType}, {"to", ParamType::DType}};
const Signature cast_signature[] = {{"(torch.dtype from_, torch.dtype to)", cast_params, 2}};
const Param result_type_params[] = {{"self", ParamType::Tensor, false, false, false, true},
                                    {"other", ParamType::Tensor, false, false, false, true}};
const Signature result_type_signature[] = {{"(Tensor input, Tensor other)", result_type_params, 2}};
PyObject* result_type_function(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                               PyObject* kwnames) {
  Args args;
  if (parse_function("result_type", result_type_signature, 1, module, argv, nargs, kwnames, args) <
      0)
    return args.overridden();
  return guarded([&] {
    const Tensor* const pair[] = {&args.tensor(0), &args.tensor(1)};
    return wrap(result_type(pair));
  });
}

PyObject* can_cast_function(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                            PyObject* kwnames) {
  Args args;
  if (parse_function("can_cast", cast_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] { return wrap(can_cast(args.dtype(0), args.dtype(1))); });
}

}  // namespace

PyMethodDef mode_table[] = {
    {"set_default_dtype", set_default_dtype_function, METH_O,
     "set_default_dtype(d) -> None\n\n"
     "Sets the floating-point dtype of tensors that are made from Python floats."},
    {"get_default_dtype", get_default_dtype_function, METH_NOARGS,
     "get_default_dtype() -> torch.dtype\n\n"
     "The floating-point dtype of tensors that are made from Python floats."},
    {"set_default_device", set_default_device_function, METH_O,
     "set_default_device(device) -> None\n\n"
     "Sets the device of tensors that are made without naming one; None means the CPU."},
    {"get_default_device", get_default_device_function, METH_NOARGS,
     "get_default_device() -> torch.device\n\n"
     "The device of tensors that are made without naming one."},
    {"set_num_threads", set_num_threads_function, METH_O,
     "set_num_threads(n) -> None\n\n"
     "Sets how many threads an operator may use."},
    {"get_num_threads", get_num_threads_function, METH_NOARGS,
     "get_num_threads() -> int\n\n"
     "How many threads an operator may use: what was set, else OMP_NUM_THREADS, else the cores "
     "that\n"
     "the process may run on."},
    {"_get_determinism", get_determinism, METH_NOARGS, nullptr},
    {"_set_determinism", set_determinism, METH_VARARGS, nullptr},
    {"manual_seed", manual_seed, METH_O,
     "manual_seed(seed) -> torch.Generator\n\n"
     "Starts the random stream of `seed` from its beginning."},
    {"seed", seed, METH_NOARGS,
     "seed() -> int\n\n"
     "Starts a random stream that the system chooses, and returns its seed."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed() -> int\n\n"
     "The seed of the current random stream."},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "is_grad_enabled() -> bool\n\n"
     "Whether operations are recorded for backward on this thread."},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
     "is_inference_mode_enabled() -> bool\n\n"
     "Whether inference mode is on for this thread."},
    {"_set_inference_mode", set_inference_mode_function, METH_O, nullptr},
    {"promote_types", as_function(promote_types_function), METH_FASTCALL | METH_KEYWORDS,
     "promote_types(type1, type2) -> dtype"},
    {"result_type", as_function(result_type_function), METH_FASTCALL | METH_KEYWORDS,
     "result_type(tensor1, tensor2) -> dtype"},
    {"can_cast", as_function(can_cast_function), METH_FASTCALL | METH_KEYWORDS,
     "can_cast(from_, to) -> bool"},
    {},
};

}  // namespace taeda::python
