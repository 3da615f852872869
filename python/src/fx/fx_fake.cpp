// taeda._C._fx.FakeMode: the C++ side of FakeTensorMode.
#include "python/src/fx/fx_fake.h"

#include <memory>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/native_mode.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/shapes/sym_types.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/fx/input_history.h"

namespace taeda::python {

namespace {

PyTypeObject* fake_mode_type = nullptr;

fx::FakeMode& mode(PyObject* o) { return static_cast<fx::FakeMode&>(*native_mode_of(o)); }

// Python's exception classes for operations that fake tensors lack, and the class of the fake mode.
PyObject* error_classes[5] = {};
PyObject* fake_mode_class = nullptr;

[[noreturn]] void raise(PyObject* type, const dispatch::Operator& op) {
  const GilHold gil;
  PyErr_SetObject(type, overload_of(op));
  throw_python_error();
}
void raise_data_dependent(const dispatch::Operator& op) { raise(error_classes[0], op); }
void raise_dynamic_shape(const dispatch::Operator& op) { raise(error_classes[1], op); }
void raise_unsupported(const dispatch::Operator& op) { raise(error_classes[3], op); }
void raise_metadata_mismatch(const std::string& message) {
  const GilHold gil;
  PyErr_SetString(error_classes[4], message.c_str());
  throw_python_error();
}
[[noreturn]] void raise_device_mismatch(const dispatch::Operator& op, Device common, Device other) {
  const GilHold gil;
  const Ref first(checked(wrap(common))), second(checked(wrap(other)));
  const Ref error(checked(PyObject_CallFunctionObjArgs(error_classes[2], overload_of(op),
                                                       first.get(), second.get(), nullptr)));
  PyErr_SetObject(error_classes[2], error.get());
  throw_python_error();
}

PyObject* fake_create(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded(
      [&] { return new_native_mode(type, make_intrusive<fx::FakeMode>(fx::FakeMode::Options())); });
}

// _configure(allow_non_fake_inputs, allow_scalar_outputs, allow_dynamic_output_shapes, shape_env or
// None, propagates_values, type of the preferred device or None)
PyObject* configure(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 6, "_configure takes six settings");
    fx::FakeMode::Options options;
    options.allow_non_fake_inputs = PyObject_IsTrue(args[0]) == 1;
    options.allow_scalar_outputs = PyObject_IsTrue(args[1]) == 1;
    options.allow_dynamic_output_shapes = PyObject_IsTrue(args[2]) == 1;
    options.shape_env = args[3] == Py_None ? nullptr : to_env(args[3]);
    options.propagates_values = PyObject_IsTrue(args[4]) == 1;
    if (args[5] != Py_None) options.preferred_device.emplace(to_device(args[5]).type);
    mode(self).set_options(std::move(options));
    return Py_NewRef(Py_None);
  });
}

PyObject* from_tensor(PyObject* self, PyObject* o) {
  return guarded([&] {
    const Tensor& real = expect_tensor(o, "from_tensor's argument");
    const Tensor fake = mode(self).from_tensor(real);
    fx::match_history(fake, real);
    return wrap(fake);
  });
}
SymIntVec read_sizes(PyObject* o) {
  const Ref items(checked(PySequence_Fast(o, "expected a list of sizes")));
  SymIntVec out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    out.push_back(to_symint(PySequence_Fast_GET_ITEM(items.get(), i)));
  return out;
}
// _from_tensor_sized(tensor, sizes, strides, offset)
PyObject* from_tensor_sized(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 4, "_from_tensor_sized takes a tensor, sizes, strides and an offset");
    const Tensor& real = expect_tensor(args[0], "the first argument");
    const SymIntVec sizes = read_sizes(args[1]), strides = read_sizes(args[2]);
    const Tensor fake = mode(self).from_tensor(real, sizes, strides, to_symint(args[3]));
    mode(self).remember(real, fake);
    return wrap(fake);
  });
}
// _remember(tensor, fake): `fake` stands for `tensor` from now on
PyObject* remember(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_remember takes a tensor and its fake");
    mode(self).remember(expect_tensor(args[0], "the tensor"), expect_tensor(args[1], "the fake"));
    return Py_NewRef(Py_None);
  });
}
PyObject* known_fake(PyObject* self, PyObject* o) {
  return guarded([&] { return wrap(mode(self).known_fake(expect_tensor(o, "the argument"))); });
}
// _known_storages(): {address of a real tensor's storage: the storage of its fakes}
PyObject* known_storages(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref dict(checked(PyDict_New()));
    for (const auto& [real, fake] : mode(self).known_storages()) {
      const Ref key(checked(PyLong_FromVoidPtr(real.get()))), value(checked(wrap_storage(fake)));
      if (PyDict_SetItem(dict.get(), key.get(), value.get()) < 0) throw_python_error();
    }
    return dict.release();
  });
}
PyObject* from_constant(PyObject* self, PyObject* o) {
  return guarded([&] { return wrap(mode(self).from_constant(expect_tensor(o, "the constant"))); });
}
PyObject* constant_of(PyObject* self, PyObject* o) {
  return guarded([&] { return wrap(mode(self).constant_of(expect_tensor(o, "the fake tensor"))); });
}

PyObject* fake_value_of(PyObject* self, PyObject* o) {
  return guarded([&] { return wrap(mode(self).value_of(expect_tensor(o, "the fake tensor"))); });
}

PyObject* mode_of(PyObject*, PyObject* o) {
  return guarded([&] {
    const IntrusivePtr<fx::FakeMode> m = fx::fake_mode_of(expect_tensor(o, "the argument"));
    return m ? wrap_fake_mode(m) : Py_NewRef(Py_None);
  });
}
PyObject* is_fake(PyObject*, PyObject* o) {
  return wrap(taeda::python::is_tensor(o) && fx::is_fake(tensor_of(o)));
}
// set_fake_device(tensor, device)
PyObject* set_fake_device(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "set_fake_device takes a fake tensor and a device");
    fx::set_fake_device(expect_tensor(args[0], "the fake tensor"), to_device(args[1]));
    return Py_NewRef(Py_None);
  });
}
PyObject* active_mode(PyObject*, PyObject*) {
  return guarded([] {
    fx::FakeMode* m = fx::active_fake_mode();
    return m ? wrap_fake_mode(IntrusivePtr<fx::FakeMode>::share(m)) : Py_NewRef(Py_None);
  });
}
PyObject* running_mode(PyObject*, PyObject*) {
  return guarded([] {
    fx::FakeMode* m = fx::running_fake_mode();
    return m ? wrap_fake_mode(IntrusivePtr<fx::FakeMode>::share(m)) : Py_NewRef(Py_None);
  });
}
// set_fake_classes(FakeTensor, FakeTensorMode, DataDependent..., DynamicOutputShape..., Device...,
// UnsupportedOperator..., MetadataMismatch...)
PyObject* set_fake_classes(PyObject*, PyObject* args) {
  PyObject *tensor = nullptr, *fake_mode = nullptr, *data = nullptr, *shape = nullptr,
           *device = nullptr, *unsupported = nullptr, *mismatch = nullptr;
  if (!PyArg_ParseTuple(args, "OOOOOOO", &tensor, &fake_mode, &data, &shape, &device, &unsupported,
                        &mismatch))
    return nullptr;
  for (PyObject* o : {tensor, fake_mode, data, shape, device, unsupported, mismatch}) Py_INCREF(o);
  fake_tensor_class = reinterpret_cast<PyTypeObject*>(tensor);
  fake_mode_class = fake_mode;
  error_classes[0] = data;
  error_classes[1] = shape;
  error_classes[2] = device;
  error_classes[3] = unsupported;
  error_classes[4] = mismatch;
  fx::set_fake_errors({&raise_data_dependent, &raise_dynamic_shape, &raise_device_mismatch,
                       &raise_unsupported, &raise_metadata_mismatch});
  Py_RETURN_NONE;
}

// Scopes in which fake tensors are the meta tensors that their kernels see.
thread_local std::vector<std::unique_ptr<FakeKernelScope>> kernel_scopes;

PyObject* enter_kernel(PyObject*, PyObject*) {
  return guarded([] {
    kernel_scopes.push_back(std::make_unique<FakeKernelScope>());
    return Py_NewRef(Py_None);
  });
}
PyObject* exit_kernel(PyObject*, PyObject*) {
  return guarded([] {
    TAEDA_CHECK(!kernel_scopes.empty(), "no scope of a fake kernel to leave");
    kernel_scopes.pop_back();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef fake_methods[] = {
    {"_configure", as_function(configure), METH_FASTCALL, nullptr},
    {"_from_tensor", from_tensor, METH_O, nullptr},
    {"_from_tensor_sized", as_function(from_tensor_sized), METH_FASTCALL, nullptr},
    {"_remember", as_function(remember), METH_FASTCALL, nullptr},
    {"_known_fake", known_fake, METH_O, nullptr},
    {"_known_storages", known_storages, METH_NOARGS, nullptr},
    {"_from_constant", from_constant, METH_O, nullptr},
    {"_constant_of", constant_of, METH_O, nullptr},
    {"_value_of", fake_value_of, METH_O, nullptr},
    {},
};
PyGetSetDef no_properties[] = {{}};
PyMethodDef fake_functions[] = {
    {"fake_mode_of", mode_of, METH_O, nullptr},
    {"is_fake", is_fake, METH_O, nullptr},
    {"set_fake_device", as_function(set_fake_device), METH_FASTCALL, nullptr},
    {"running_fake_mode", running_mode, METH_NOARGS, nullptr},
    {"active_fake_mode", active_mode, METH_NOARGS, nullptr},
    {"_enter_fake_kernel", enter_kernel, METH_NOARGS, nullptr},
    {"_exit_fake_kernel", exit_kernel, METH_NOARGS, nullptr},
    {"set_fake_classes", set_fake_classes, METH_VARARGS, nullptr},
    {},
};
}  // namespace

PyObject* wrap_fake_mode(const IntrusivePtr<fx::FakeMode>& value) {
  if (value->peer) return Py_NewRef(static_cast<PyObject*>(value->peer));
  auto* type = fake_mode_class ? reinterpret_cast<PyTypeObject*>(fake_mode_class) : fake_mode_type;
  return new_native_mode(type, value);
}

IntrusivePtr<fx::FakeMode> read_fake_mode(PyObject* o) {
  if (!o) return nullptr;
  auto* found = is_native_mode(o) ? dynamic_cast<fx::FakeMode*>(native_mode_of(o).get()) : nullptr;
  TAEDA_CHECK_TYPE(found, "fake_mode is a FakeTensorMode");
  return IntrusivePtr<fx::FakeMode>::share(found);
}

bool init_fake_mode_type(PyObject* module) {
  fake_mode_type = add_native_mode_type(module, "taeda._C._fx.FakeMode", fake_create, fake_methods,
                                        no_properties);
  return fake_mode_type && PyModule_AddFunctions(module, fake_functions) == 0;
}

}  // namespace taeda::python
