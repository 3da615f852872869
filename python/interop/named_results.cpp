// Makes the struct-sequence types of operators with named results.
#include "python/interop/named_results.h"

#include <structmember.h>

#include <map>
#include <string>
#include <vector>

namespace taeda::python {

PyObject* return_types_module() {
  static PyObject* const module = PyModule_New("taeda.return_types");
  return module;
}

// `torch.return_types.max(` and one line for each field: tensors print over several lines.
static PyObject* named_result_repr(PyObject* self) {
  std::string text = std::string(Py_TYPE(self)->tp_name) + "(\n";
  const PyMemberDef* members = Py_TYPE(self)->tp_members;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    Ref value(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    const char* chars = value ? PyUnicode_AsUTF8(value.get()) : nullptr;
    if (!chars) return nullptr;
    if (i) text += ",\n";
    text += std::string(members[i].name) + "=" + chars;
  }
  text += ")";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyTypeObject* named_result_type(const char* name, std::initializer_list<const char*> fields) {
  static std::map<std::string, PyTypeObject*> types;
  PyTypeObject*& type = types[name];
  if (type) return type;
  // The descriptor's strings are read again at every repr: they live as long as the type.
  auto* full_name = new std::string("torch.return_types." + std::string(name));
  auto* members = new std::vector<PyStructSequence_Field>();
  for (const char* field : fields) members->push_back({field, nullptr});
  members->push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{full_name->c_str(), nullptr, members->data(),
                             static_cast<int>(fields.size())};
  PyTypeObject* fresh = PyStructSequence_NewType(&desc);
  if (fresh) fresh->tp_repr = named_result_repr;
  PyObject* module = return_types_module();
  if (!fresh || !module ||
      PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(fresh)) < 0)
    return nullptr;
  return type = fresh;
}

}  // namespace taeda::python
