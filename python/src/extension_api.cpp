// Fills the table of functions that extension modules use (python/interop/extension_api.h).
#include "python/interop/extension_api.h"

#include "python/src/args.h"
#include "python/src/factories.h"
#include "python/src/tensor_type.h"
#include "python/src/types.h"
#include "python/src/wrap.h"

namespace taeda::python {

namespace {

const ExtensionApi api = {
    ExtensionApi::kVersion,
    [](PyObject* o) { return is_tensor(o); },
    [](PyObject* o) { return Tensor(tensor_of(o)); },
    [](const Tensor& t) { return guarded([&] { return wrap(t); }); },
    [](DType t) { return guarded([&] { return wrap(t); }); },
    [](Device d) { return guarded([&] { return wrap(d); }); },
    [](const Scalar& s) { return guarded([&] { return wrap(s); }); },
    &is_dtype,
    &to_dtype,
    &is_device,
    &to_device,
    &is_number,
    &to_scalar,
    &translate_exception,
};

}  // namespace

bool init_extension_api(PyObject* module) {
  const Ref capsule(
      PyCapsule_New(const_cast<ExtensionApi*>(&api), kExtensionApiName, /*destructor=*/nullptr));
  return capsule && PyModule_AddObjectRef(module, "_extension_api", capsule.get()) == 0;
}

}  // namespace taeda::python
