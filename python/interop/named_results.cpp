// Makes the struct-sequence types of operators with named results.
#include "python/interop/named_results.h"

#include <structmember.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::python {
namespace {

using dispatch::Argument;
using dispatch::Schema;

constexpr std::string_view kOut = "_out";

bool has_named_results(const Schema& schema) {
  return schema.returns.size() > 1 &&
         std::ranges::all_of(schema.returns, [](const Argument& r) { return !r.name.empty(); });
}

bool is_out_form(const Schema& schema) {
  return std::ranges::all_of(schema.returns, [](const Argument& r) { return r.is_written; });
}

// The type's name for a schema with named results.
std::string type_name(const Schema& schema) {
  return is_out_form(schema) ? schema.name + std::string(kOut) : schema.name;
}

// The names of an operator's results; none where it has none.
std::vector<std::string> fields_of(std::string_view name) {
  const std::string_view op_name =
      name.ends_with(kOut) ? name.substr(0, name.size() - kOut.size()) : name;
  for (const dispatch::Operator* op : dispatch::find_overloads(op_name)) {
    const Schema schema = dispatch::parse_schema(op->schema);
    if (!has_named_results(schema) || type_name(schema) != name) continue;
    std::vector<std::string> fields;
    for (const Argument& result : schema.returns) fields.push_back(result.name);
    return fields;
  }
  return {};
}

// `torch.return_types.max(` and one line for each field: tensors print over several lines.
PyObject* named_result_repr(PyObject* self) {
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

// Pickles find a type in this module: PyTorch's where the package answers for it (`taeda run`).
const char* home() {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* torch = PyDict_GetItemString(modules, "torch");
  const bool answers = torch && torch == PyDict_GetItemString(modules, "taeda");
  return answers ? "torch.return_types" : "taeda.return_types";
}

PyTypeObject* make_type(const std::string& name, const std::vector<std::string>& fields) {
  // The descriptor's strings are read again at every repr: they live as long as the type. The name
  // in front of printed values is PyTorch's in both packages.
  const auto* full_name = new std::string("torch.return_types." + name);
  const auto* names = new std::vector<std::string>(fields);
  auto* members = new std::vector<PyStructSequence_Field>();
  for (const std::string& field : *names) members->push_back({field.c_str(), nullptr});
  members->push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{full_name->c_str(), nullptr, members->data(),
                             static_cast<int>(names->size())};
  PyTypeObject* type = PyStructSequence_NewType(&desc);
  if (!type) return nullptr;
  type->tp_repr = named_result_repr;
  Ref module(PyUnicode_FromString(home()));
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!module || PyObject_SetAttrString(object, "__module__", module.get()) < 0 ||
      PyModule_AddObjectRef(return_types_module(), name.c_str(), object) < 0)
    return nullptr;
  return type;
}

PyObject* module_getattr(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    return text ? Py_XNewRef(reinterpret_cast<PyObject*>(named_result_type(text))) : nullptr;
  });
}

PyObject* module_dir(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    std::set<std::string> names;
    for (const dispatch::Operator* op : dispatch::all_operators()) {
      const Schema schema = dispatch::parse_schema(op->schema);
      const bool is_own = schema.name.find("::") == std::string::npos;
      if (is_own && has_named_results(schema)) names.insert(type_name(schema));
    }
    Ref list(PyList_New(0));
    for (const std::string& name : names) {
      Ref item(wrap(name));
      if (!list || !item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
    }
    return list.release();
  });
}

PyMethodDef module_functions[] = {{"__getattr__", module_getattr, METH_O, nullptr},
                                  {"__dir__", module_dir, METH_NOARGS, nullptr},
                                  {}};

}  // namespace

PyObject* return_types_module() {
  static PyObject* const module = [] {
    Ref fresh(PyModule_New("taeda.return_types"));
    const bool ok = fresh && PyModule_AddFunctions(fresh.get(), module_functions) == 0;
    return ok ? fresh.release() : nullptr;
  }();
  return module;
}

PyTypeObject* named_result_type(std::string_view name) {
  static std::map<std::string, PyTypeObject*, std::less<>> types;
  if (const auto found = types.find(name); found != types.end()) return found->second;
  const std::vector<std::string> fields = fields_of(name);
  if (fields.empty()) {
    PyErr_Format(PyExc_AttributeError, "module 'taeda.return_types' has no attribute '%s'",
                 std::string(name).c_str());
    return nullptr;
  }
  PyTypeObject* type = make_type(std::string(name), fields);
  if (type) types.emplace(name, type);
  return type;
}

}  // namespace taeda::python
