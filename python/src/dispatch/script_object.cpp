// Holds objects of custom classes for Python, and calls their methods.
#include "python/src/dispatch/script_object.h"

#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/boxed_values.h"
#include "taeda/dispatch/custom_class.h"

namespace taeda::python {
namespace {

using dispatch::ClassMethod;
using dispatch::CustomClass;
using dispatch::CustomClassHolder;
using dispatch::Opaque;
using dispatch::Stack;
using dispatch::Value;

struct ScriptObject {
  PyObject_HEAD IntrusivePtr<Opaque> value;
};

PyTypeObject* holder_type = nullptr;
// The Python class of wrapped objects, a subclass of the holder.
PyObject* shown_class_of_objects = nullptr;

ScriptObject* as_object(PyObject* o) { return reinterpret_cast<ScriptObject*>(o); }

void dealloc(PyObject* self) {
  as_object(self)->value.~IntrusivePtr<Opaque>();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec spec = {"taeda._C._ScriptObjectHolder", sizeof(ScriptObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

CustomClass& class_named(PyObject* qualified_name) {
  const std::string name = text_of(qualified_name);
  CustomClass* found = dispatch::find_class_named(name);
  TAEDA_CHECK(found, "Class ", name, " not registered!");
  return *found;
}

const CallSchema& schema_of(const CustomClass& owner, const ClassMethod& method) {
  static auto* schemas = new std::unordered_map<const ClassMethod*, CallSchema>;
  if (auto it = schemas->find(&method); it != schemas->end()) return it->second;
  const std::string name = str(owner.qualified_name(), ".", method.schema.name);
  return schemas->emplace(&method, CallSchema{dispatch::CallForm(method.schema), name, name})
      .first->second;
}

// kind, name -> the method; null where there is none.
const ClassMethod* find_method(const CustomClass& c, std::string_view kind,
                               const std::string& name) {
  if (kind == "constructor") return c.constructor ? &*c.constructor : nullptr;
  if (kind == "method") {
    const auto it = c.methods.find(name);
    return it == c.methods.end() ? nullptr : &it->second;
  }
  const auto it = c.properties.find(name);
  if (it == c.properties.end()) return nullptr;
  if (kind == "getter") return &it->second.get;
  return it->second.set ? &*it->second.set : nullptr;
}

// Tuples among the results are lists of values on the stack.
PyObject* wrap_method_results(const dispatch::Schema& schema, const Stack& stack) {
  Ref results(wrap_results(stack));
  if (stack.size() < 2) return results.release();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!schema.returns[i].type.base.starts_with('(')) continue;
    const auto at = static_cast<Py_ssize_t>(i);
    PyObject* list = PyTuple_GET_ITEM(results.get(), at);
    PyObject* tuple = checked(PySequence_Tuple(list));
    PyTuple_SET_ITEM(results.get(), at, tuple);
    Py_DECREF(list);
  }
  return results.release();
}

// call_class(class, kind, name, args, kwargs)
PyObject* call_class(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 5, "call_class() takes 5 arguments, got ", nargs);
    const CustomClass& owner = class_named(argv[0]);
    const std::string kind = text_of(argv[1]), name = text_of(argv[2]);
    const ClassMethod* method = find_method(owner, kind, name);
    TAEDA_CHECK_KIND(ErrorKind::Attribute, method, owner.qualified_name(), " has no ", kind, " '",
                     name, "'");
    Stack stack = bind_arguments(schema_of(owner, *method), argv[3], argv[4], Numbers::Apart);
    {
      const GilRelease released;
      method->call(stack);
    }
    return wrap_method_results(method->schema, stack);
  });
}

// class_parts(class): (has a constructor, {method: is static}, {property: can be set}), or None.
PyObject* class_parts(PyObject*, PyObject* qualified_name) {
  return guarded([&]() -> PyObject* {
    const CustomClass* c = dispatch::find_class_named(text_of(qualified_name));
    if (!c) return Py_NewRef(Py_None);
    const Ref methods(checked(PyDict_New())), properties(checked(PyDict_New()));
    const auto set = [](const Ref& dict, const std::string& name, bool value) {
      if (PyDict_SetItemString(dict.get(), name.c_str(), value ? Py_True : Py_False) < 0)
        throw_python_error();
    };
    for (const auto& [name, method] : c->methods) set(methods, name, method.is_static);
    for (const auto& [name, property] : c->properties)
      set(properties, name, property.set.has_value());
    return checked(Py_BuildValue("(OOO)", c->constructor ? Py_True : Py_False, methods.get(),
                                 properties.get()));
  });
}

PyObject* class_name_of(PyObject*, PyObject* o) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(PyObject_TypeCheck(o, holder_type), "not an object of a custom class");
    return wrap(as_object(o)->value->text());
  });
}

PyObject* set_object_class(PyObject*, PyObject* type) {
  Py_XSETREF(shown_class_of_objects, Py_NewRef(type));
  Py_RETURN_NONE;
}

}  // namespace

PyObject* wrap_script_object(const IntrusivePtr<Opaque>& object) {
  if (!shown_class_of_objects) {
    const Ref module(checked(PyImport_ImportModule("taeda._classes")));
    TAEDA_INTERNAL_CHECK(shown_class_of_objects);
  }
  auto* type = reinterpret_cast<PyTypeObject*>(shown_class_of_objects);
  PyObject* o = checked(type->tp_alloc(type, 0));
  new (&as_object(o)->value) IntrusivePtr<Opaque>(object);
  return o;
}

std::optional<Value> read_script_object(const std::string& class_name, PyObject* o) {
  if (!PyObject_TypeCheck(o, holder_type)) return std::nullopt;
  const IntrusivePtr<Opaque>& value = as_object(o)->value;
  if (value->text() != class_name) return std::nullopt;
  return Value(value);
}

PyMethodDef script_object_table[] = {
    {"call_class", as_function(call_class), METH_FASTCALL, nullptr},
    {"class_parts", class_parts, METH_O, nullptr},
    {"class_name_of", class_name_of, METH_O, nullptr},
    {"set_object_class", set_object_class, METH_O, nullptr},
    {},
};

bool init_script_object_type(PyObject* module) {
  holder_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return holder_type && PyModule_AddObjectRef(module, "_ScriptObjectHolder",
                                              reinterpret_cast<PyObject*>(holder_type)) == 0;
}

}  // namespace taeda::python
