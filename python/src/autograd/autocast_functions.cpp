// The thread's autocast state from Python: taeda.set_autocast_enabled and its like.
#include "python/interop/errors.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/autocast.h"

namespace taeda::python {

namespace {

PyObject* none() { return Py_NewRef(Py_None); }

DeviceType device_type_of(const Args& args) {
  const DeviceType device = Device::parse(args.string(0)).type;
  TAEDA_CHECK(autocast::is_available(device),
              "unknown device type for autocast in get_autocast_dispatch_key_from_device_type: ",
              "got ", device_type_name(device));
  return device;
}

const Param device_param[] = {{"device_type", ParamType::Str}};
// Without a device type PyTorch means CUDA.
const Signature enabled_signatures[] = {{"(str device_type)", device_param, 1}, {"()", nullptr, 0}};
PyObject* is_autocast_enabled(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                              PyObject* kwnames) {
  Args args;
  const int form =
      parse("is_autocast_enabled", enabled_signatures, 2, nullptr, argv, nargs, kwnames, args);
  if (form < 0) return nullptr;
  return guarded([&] {
    return wrap(autocast::is_enabled(form == 0 ? device_type_of(args) : DeviceType::CUDA));
  });
}

const Param set_enabled_params[] = {{"device_type", ParamType::Str}, {"enabled", ParamType::Bool}};
const Signature set_enabled_signatures[] = {
    {"(str device_type, bool enabled)", set_enabled_params, 2},
    {"(bool enabled)", set_enabled_params + 1, 1}};
PyObject* set_autocast_enabled(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                               PyObject* kwnames) {
  Args args;
  const int form =
      parse("set_autocast_enabled", set_enabled_signatures, 2, nullptr, argv, nargs, kwnames, args);
  if (form < 0) return nullptr;
  return guarded([&] {
    if (form == 0)
      autocast::set_enabled(device_type_of(args), args.boolean(1));
    else
      autocast::set_enabled(DeviceType::CUDA, args.boolean(0));
    return none();
  });
}

const Signature dtype_signature[] = {{"(str device_type)", device_param, 1}};
PyObject* get_autocast_dtype(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                             PyObject* kwnames) {
  Args args;
  if (parse("get_autocast_dtype", dtype_signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const DeviceType device = Device::parse(args.string(0)).type;
    TAEDA_CHECK(autocast::is_available(device),
                "unsupported scalarType: autocast has no dtype for ", device_type_name(device));
    return wrap(autocast::dtype_of(device));
  });
}

const Param set_dtype_params[] = {{"device_type", ParamType::Str}, {"dtype", ParamType::DType}};
const Signature set_dtype_signature[] = {
    {"(str device_type, torch.dtype dtype)", set_dtype_params, 2}};
PyObject* set_autocast_dtype(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                             PyObject* kwnames) {
  Args args;
  if (parse("set_autocast_dtype", set_dtype_signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    autocast::set_dtype(device_type_of(args), args.dtype(1));
    return none();
  });
}

PyObject* is_available(PyObject*, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("is_autocast_available", dtype_signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] { return wrap(autocast::is_available(Device::parse(args.string(0)).type)); });
}

PyObject* is_autocast_cache_enabled(PyObject*, PyObject*) {
  return wrap(autocast::is_cache_enabled());
}
PyObject* set_autocast_cache_enabled(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyBool_Check(o), "enabled must be a bool (got ", Py_TYPE(o)->tp_name, ")");
    autocast::set_cache_enabled(o == Py_True);
    return none();
  });
}
PyObject* clear_autocast_cache(PyObject*, PyObject*) {
  return guarded([&] {
    autocast::clear_cache();
    return none();
  });
}
PyObject* increment_nesting(PyObject*, PyObject*) {
  return PyLong_FromLong(autocast::enter_region());
}
PyObject* decrement_nesting(PyObject*, PyObject*) {
  return PyLong_FromLong(autocast::leave_region());
}

}  // namespace

PyMethodDef autocast_table[] = {
    {"is_autocast_enabled", as_function(is_autocast_enabled), METH_FASTCALL | METH_KEYWORDS,
     "is_autocast_enabled(device_type=None) -> bool\n\n"
     "Whether autocast is on for a kind of device (CUDA if none is named)."},
    {"set_autocast_enabled", as_function(set_autocast_enabled), METH_FASTCALL | METH_KEYWORDS,
     "set_autocast_enabled(device_type, enabled) -> None\n\n"
     "Switches autocast on or off for a kind of device; `torch.autocast` does so for a block."},
    {"get_autocast_dtype", as_function(get_autocast_dtype), METH_FASTCALL | METH_KEYWORDS,
     "get_autocast_dtype(device_type) -> torch.dtype\n\n"
     "The dtype that autocast computes in on a kind of device."},
    {"set_autocast_dtype", as_function(set_autocast_dtype), METH_FASTCALL | METH_KEYWORDS,
     "set_autocast_dtype(device_type, dtype) -> None\n\n"
     "Sets the dtype that autocast computes in on a kind of device."},
    {"_is_autocast_available", as_function(is_available), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"is_autocast_cache_enabled", is_autocast_cache_enabled, METH_NOARGS,
     "is_autocast_cache_enabled() -> bool\n\n"
     "Whether autocast keeps the copies of parameters that it casts."},
    {"set_autocast_cache_enabled", set_autocast_cache_enabled, METH_O,
     "set_autocast_cache_enabled(enabled) -> None\n\n"
     "Says whether autocast keeps the copies of parameters that it casts."},
    {"clear_autocast_cache", clear_autocast_cache, METH_NOARGS,
     "clear_autocast_cache() -> None\n\n"
     "Drops the copies of parameters that autocast keeps."},
    {"autocast_increment_nesting", increment_nesting, METH_NOARGS,
     "autocast_increment_nesting() -> int\n\n"
     "Enters an autocast block; returns how many are open."},
    {"autocast_decrement_nesting", decrement_nesting, METH_NOARGS,
     "autocast_decrement_nesting() -> int\n\n"
     "Leaves an autocast block; returns how many are open."},
    {},
};

}  // namespace taeda::python
