// Fills the table of functions that extension modules use (python/interop/extension_api.h).
#include "python/interop/extension_api.h"

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/storage_type.h"

namespace taeda::python {

namespace {

template <class T>
PyObject* wrap_guarded(const T& value) {
  return guarded([&] { return wrap(value); });
}

const ExtensionApi api = {
    ExtensionApi::kVersion,
    {[](PyObject* o) { return is_tensor(o); }, [](PyObject* o) { return Tensor(tensor_of(o)); },
     &wrap_guarded<Tensor>},
    {&is_dtype, &to_dtype, &wrap_guarded<DType>},
    {&is_device, &to_device, &wrap_guarded<Device>},
    {&is_layout, &to_layout, &wrap_guarded<Layout>},
    {&is_memory_format, &to_memory_format, &wrap_guarded<MemoryFormat>},
    {[](PyObject* o) { return is_number(o) || is_symbolic(o); }, &to_scalar, &wrap_guarded<Scalar>},
    {[](PyObject* o) { return is_symint(o) || is_integer(o); },
     [](PyObject* o) { return is_symint(o) ? to_symint(o) : SymInt(to_int64(o)); },
     &wrap_guarded<SymInt>},
    {&is_generator, [](PyObject* o) { return Generator(to_generator(o)); },
     &wrap_guarded<Generator>},
    {&is_storage, [](PyObject* o) { return Storage(storage_of(o)); },
     [](const Storage& s) { return guarded([&] { return wrap_storage(s); }); }},
    {&is_symfloat, [](PyObject* o) { return IntrusivePtr<SymNode>(sym_node_of(o)); },
     &wrap_guarded<IntrusivePtr<SymNode>>},
    &translate_exception,
};

}  // namespace

bool init_extension_api(PyObject* module) {
  const Ref capsule(
      PyCapsule_New(const_cast<ExtensionApi*>(&api), kExtensionApiName, /*destructor=*/nullptr));
  return capsule && PyModule_AddObjectRef(module, "_extension_api", capsule.get()) == 0;
}

}  // namespace taeda::python
