// Devices from Python: loading plug-ins, naming them, and how often the CPU stood in for them.
#include "python/interop/errors.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/factories.h"
#include "taeda/backends/device_kernels.h"
#include "taeda/backends/device_registry.h"
#include "taeda/backends/lowered/compiled.h"
#include "taeda/base/isa.h"

namespace taeda::python {

namespace {

std::string text_of(PyObject* o, const char* function) {
  TAEDA_CHECK_TYPE(PyUnicode_Check(o), function, "(): expected a str, got ", Py_TYPE(o)->tp_name);
  const char* utf8 = PyUnicode_AsUTF8(o);
  if (!utf8) throw_python_error();
  return utf8;
}

PyObject* load_device(PyObject*, PyObject* path) {
  return guarded([&] {
    return wrap(device_type_name(devices::load_device_plugin(text_of(path, "_load_device"))));
  });
}

PyObject* rename_privateuse1(PyObject*, PyObject* o) {
  return guarded([&] {
    const std::string name = text_of(o, "rename_privateuse1_backend");
    const std::string now = device_type_name(DeviceType::PrivateUse1);
    TAEDA_CHECK(!name.empty() && name.find(':') == name.npos,
                "rename_privateuse1_backend: not a device name: '", name, "'");
    TAEDA_CHECK(
        now == "privateuseone" || now == name,
        "torch.register_privateuse1_backend() has already been set! Current backend: ", now);
    for (int i = 0; i < kNumDeviceTypes; ++i)
      TAEDA_CHECK(static_cast<DeviceType>(i) == DeviceType::PrivateUse1 ||
                      device_type_name(static_cast<DeviceType>(i)) != name,
                  "rename_privateuse1_backend: '", name, "' is the name of another device type");
    rename_device_type(DeviceType::PrivateUse1, name);
    return Py_NewRef(Py_None);
  });
}
PyObject* privateuse1_name(PyObject*, PyObject*) {
  return guarded([&] { return wrap(device_type_name(DeviceType::PrivateUse1)); });
}

PyObject* fallback_counts(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Ref dict(checked(PyDict_New()));
    for (const auto& [name, count] : devices::fallback_counts()) {
      Ref number(checked(PyLong_FromLongLong(count)));
      if (PyDict_SetItemString(dict.get(), name.c_str(), number.get()) < 0) throw_python_error();
    }
    return dict.release();
  });
}

PyObject* lowered_counts(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const lowered::KernelCounts counts = lowered::kernel_counts();
    return checked(Py_BuildValue("{sLsLsL}", "made", static_cast<long long>(counts.made),
                                 "from_disk", static_cast<long long>(counts.from_disk), "launched",
                                 static_cast<long long>(counts.launched)));
  });
}

PyObject* registered(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    devices::load_devices_from_environment();
    Ref list(checked(PyList_New(0)));
    for (DeviceType type : devices::registered_devices()) {
      Ref name(wrap(device_type_name(type)));
      if (PyList_Append(list.get(), name.get()) < 0) throw_python_error();
    }
    return list.release();
  });
}

PyObject* cpu_capability(PyObject*, PyObject*) {
#if defined(__x86_64__)
  constexpr const char* names[] = {"DEFAULT", "AVX2", "AVX512"};
  return guarded([&] { return wrap(std::string(names[isa_level()])); });
#else
  return guarded([&] { return wrap(std::string("DEFAULT")); });
#endif
}

PyObject* compiler(PyObject*, PyObject*) {
#if defined(__clang__)
  return PyUnicode_FromString(__VERSION__);
#else
  return PyUnicode_FromString("GCC " __VERSION__);
#endif
}

}  // namespace

PyMethodDef device_table[] = {
    {"_load_device", load_device, METH_O,
     "_load_device(path): opens a device plug-in; returns its device type's name."},
    {"_rename_privateuse1_backend", rename_privateuse1, METH_O, nullptr},
    {"_get_privateuse1_backend_name", privateuse1_name, METH_NOARGS, nullptr},
    {"_lowered_counts", lowered_counts, METH_NOARGS,
     "_lowered_counts() -> dict\n\nGenerated kernels of devices since the process started: made, "
     "taken "
     "from disk, launched."},
    {"_fallback_counts", fallback_counts, METH_NOARGS,
     "Calls that ran on the CPU for a device, by operator."},
    {"_get_cpu_capability", cpu_capability, METH_NOARGS,
     "The instruction set that CPU kernels were chosen for."},
    {"_compiler", compiler, METH_NOARGS, "The compiler that this build was made with."},
    {"_registered_devices", registered, METH_NOARGS,
     "The names of the device types that have a device."},
    {},
};

}  // namespace taeda::python
