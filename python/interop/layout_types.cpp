// taeda.layout and taeda.memory_format: named constants.
#include "python/interop/types.h"

#include <string>

#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* layout_type = nullptr;
PyTypeObject* memory_format_type = nullptr;

namespace {

struct ConstantObject {
  PyObject_HEAD int value;
  const char* name;
};

constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                    "sparse_bsr", "sparse_bsc", "jagged"};
constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                    "channels_last_3d"};
PyObject* layouts[std::size(kLayouts)];
PyObject* formats[std::size(kFormats)];

PyObject* constant_repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", reinterpret_cast<ConstantObject*>(self)->name);
}
// A string here names a global of the type's module, taeda.
PyObject* constant_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(self)->name);
}

PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot constant_slots[] = {
    {Py_tp_doc, const_cast<char*>("A constant that says how the elements of a tensor are stored.")},
    {Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
    {Py_tp_methods, constant_methods},
    {0, nullptr}};

template <size_t N>
PyTypeObject* make_constant_type(PyObject* module, const char* name, const char* const (&names)[N],
                                 PyObject* (&objects)[N]) {
  PyType_Spec spec = {name, sizeof(ConstantObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, constant_slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, name + sizeof("taeda.") - 1,
                                     reinterpret_cast<PyObject*>(type)) < 0)
    return nullptr;
  for (size_t i = 0; i < N; ++i) {
    auto* o = PyObject_New(ConstantObject, type);
    if (!o) return nullptr;
    o->value = static_cast<int>(i);
    o->name = names[i];
    objects[i] = reinterpret_cast<PyObject*>(o);
    if (PyModule_AddObjectRef(module, names[i], objects[i]) < 0) return nullptr;
  }
  return type;
}

}  // namespace

PyObject* wrap(Layout l) { return Py_NewRef(layouts[static_cast<int>(l)]); }
PyObject* wrap(MemoryFormat m) { return Py_NewRef(formats[static_cast<int>(m)]); }
Layout to_layout(PyObject* o) {
  return static_cast<Layout>(reinterpret_cast<ConstantObject*>(o)->value);
}
MemoryFormat to_memory_format(PyObject* o) {
  return static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(o)->value);
}

bool init_layout_types(PyObject* module) {
  layout_type = make_constant_type(module, "taeda.layout", kLayouts, layouts);
  memory_format_type = make_constant_type(module, "taeda.memory_format", kFormats, formats);
  return layout_type && memory_format_type;
}

}  // namespace taeda::python
