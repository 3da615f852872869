#include "taeda/dynamo/capture/source.h"

#include <algorithm>
#include <string_view>

#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/ops/functions.h"

namespace taeda::dynamo {

namespace {

std::string repr(PyObject* object) {
  Owned text(PyObject_Repr(object));
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? "?" : bytes;
}

std::string plain(PyObject* text) {
  const char* bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  return bytes == nullptr ? repr(text) : bytes;
}

}  // namespace

// PyImport_ImportModule asks the builtins of the frame that runs, which a program may have
// replaced; and imports run code, which is none of the program's.
PyObject* imported_module(const char* name) {
  Owned text(PyUnicode_InternFromString(name));
  if (!text) return nullptr;
  if (PyObject* known = PyImport_GetModule(text.get())) return known;
  if (PyErr_Occurred()) return nullptr;
  const SessionScope natively(nullptr);
  const StackRoom room;
  Owned all(Py_BuildValue("(s)", "*"));
  if (!all) return nullptr;
  return PyImport_ImportModuleLevelObject(text.get(), nullptr, nullptr, all.get(), 0);
}

PyObject* imported(const char* module, const char* name) {
  Owned loaded(imported_module(module));
  return loaded ? PyObject_GetAttrString(loaded.get(), name) : nullptr;
}

PyObject* loaded(const char* module, const char* name) {
  // sys.modules itself: PyImport_GetModule waits for imports of other threads.
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* found = PyDict_GetItemString(modules, module);
  PyObject* attribute = found ? PyObject_GetAttrString(found, name) : nullptr;
  if (!attribute) PyErr_Clear();
  return attribute;
}

bool is_weak_reference(PyObject* object) {
  return PyWeakref_CheckRef(object) && Py_TYPE(object)->tp_call == _PyWeakref_RefType.tp_call;
}

PyObject* shown_mapping(PyObject* object) {
  // CPython shows the layout of proxies to nobody, and that of views to nobody since 3.13; they are
  // the same, in all versions.
  struct Shown {
    PyObject_HEAD PyObject* mapping;
  };
  const bool is_known = Py_IS_TYPE(object, &PyDictProxy_Type) || PyDictViewSet_Check(object) ||
                        PyDictValues_Check(object);
  return is_known ? reinterpret_cast<Shown*>(object)->mapping : nullptr;
}

PyObject* viewed_mapping(PyObject* object) {
  PyObject* mapping = shown_mapping(object);
  if (mapping == nullptr) return nullptr;
  return PyDict_CheckExact(mapping) || PyODict_CheckExact(mapping) ? mapping : nullptr;
}

// A cache of limited size keeps results in a list, whose elements are used again for other keys.
PyObject* remembered_result(PyObject* place) {
  // CPython shows the layout to nobody; it is the same in all versions.
  struct Element {
    PyObject_HEAD Element *before, *behind;
    Py_hash_t hash;
    PyObject *key, *result;
  };
  const PyTypeObject* type = Py_TYPE(place);
  if (std::string_view(type->tp_name) != "functools._lru_list_elem") return place;
  if (type->tp_basicsize != sizeof(Element)) return nullptr;
  return reinterpret_cast<Element*>(place)->result;
}

static const char* name_of_view(PyObject* view) {
  return PyDictKeys_Check(view) ? "keys" : PyDictValues_Check(view) ? "values" : "items";
}

PyObject* same_view(PyObject* view, PyObject* mapping) {
  if (Py_IS_TYPE(view, &PyDictProxy_Type)) return PyDictProxy_New(mapping);
  return PyObject_CallMethod(mapping, name_of_view(view), nullptr);
}

PyObject* maker_of_view(PyObject* view) {
  const PyTypeObject* type = Py_TYPE(view);
  const bool is_ordered =
      type == &PyODictKeys_Type || type == &PyODictValues_Type || type == &PyODictItems_Type;
  return PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(is_ordered ? &PyODict_Type : &PyDict_Type), name_of_view(view));
}

namespace {

// Of a class of struct sequences, which no class statement derives from; -1 for others.
Py_ssize_t num_fields_of(PyTypeObject* type) {
  if (type == &PyTuple_Type || (type->tp_flags & Py_TPFLAGS_BASETYPE)) return -1;
  static PyObject* const name = PyUnicode_InternFromString("n_fields");
  PyObject* number = _PyType_Lookup(type, name);
  return number != nullptr && PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
}

}  // namespace

Py_ssize_t num_fields(PyObject* tuple) {
  return std::max(num_fields_of(Py_TYPE(tuple)), PyTuple_GET_SIZE(tuple));
}

PyObject* make_tuple(PyTypeObject* type, PyObject* fields) {
  if (num_fields_of(type) < 0) {
    Owned arguments(PyTuple_Pack(1, fields));
    return arguments ? PyTuple_Type.tp_new(type, arguments.get(), nullptr) : nullptr;
  }
  // It has room for all fields, as many as its collector visits.
  PyObject* made = PyStructSequence_New(type);
  for (Py_ssize_t i = 0; made != nullptr && i < PyTuple_GET_SIZE(fields); ++i)
    PyStructSequence_SetItem(made, i, Py_NewRef(PyTuple_GET_ITEM(fields, i)));
  return made;
}

PyObject* keys_in_order(PyObject* container) {
  PyTypeObject* base = PyAnySet_Check(container)  ? &PySet_Type
                       : PyODict_Check(container) ? &PyODict_Type
                                                  : &PyDict_Type;
  Owned keys(base->tp_iter(container));
  return keys ? PySequence_Tuple(keys.get()) : nullptr;
}

PyObject* items_in_order(PyObject* container) {
  if (PyList_Check(container)) return PyList_AsTuple(container);
  if (PyAnySet_Check(container)) return keys_in_order(container);
  return PySequence_Tuple(container);
}

int set_dict_item(PyObject* dict, PyObject* key, PyObject* value) {
  return PyODict_Check(dict) ? PyODict_SetItem(dict, key, value) : PyDict_SetItem(dict, key, value);
}

int delete_dict_item(PyObject* dict, PyObject* key) {
  return PyODict_Check(dict) ? PyODict_DelItem(dict, key) : PyDict_DelItem(dict, key);
}

int Sources::add(Source source, std::string name) {
  const Key key{source.step, source.parent, source.index, source.frame, source.key};
  const auto [found, is_new] = known_.try_emplace(key, size());
  if (!is_new) return found->second;
  if (source.key != nullptr) kept_.emplace_back(Py_NewRef(source.key));
  all_.push_back(source);
  names_.push_back(std::move(name));
  return found->second;
}

int Sources::local(int frame, int slot, PyObject* name) {
  std::string text = name == nullptr ? "stack" + std::to_string(slot) : plain(name);
  return add({.step = Step::Local, .index = slot, .frame = frame}, "L['" + text + "']");
}

int Sources::function(int frame, int num_frames) {
  return add({.step = Step::Local, .index = frame, .frame = num_frames}, "function");
}

int Sources::pinned(PyObject* object, std::string name) {
  return add({.step = Step::Pinned, .key = object}, std::move(name));
}

int Sources::drawn(int index) {
  return add({.step = Step::Drawn, .index = index}, "random_value_" + std::to_string(index));
}

// Equal keys of a dict are one path, whatever objects they are.
int Sources::of(Step step, int parent, int index, PyObject* key) {
  const bool is_text = key != nullptr && (PyUnicode_CheckExact(key) || PyLong_CheckExact(key));
  if (step == Step::Item && is_text) {
    const auto [found, is_new] = items_.try_emplace({parent, repr(key)}, size());
    if (!is_new) return found->second;
  }
  return add({.step = step, .parent = parent, .index = index, .key = key});
}

std::string Sources::text(int id) const {
  const Source& source = all_[id];
  const auto parent = [&] { return text(source.parent); };
  switch (source.step) {
    case Step::Local:
    case Step::Drawn:
    case Step::Pinned: return names_[id];
    case Step::InstanceDict:
    case Step::ThreadDict: return parent() + ".__dict__";
    case Step::Item: {
      const Source& dict = all_[source.parent];
      if (dict.step == Step::InstanceDict || dict.step == Step::ThreadDict)
        return text(dict.parent) + "." + plain(source.key);
      return parent() + "[" + repr(source.key) + "]";
    }
    case Step::Index: return parent() + "[" + std::to_string(source.index) + "]";
    case Step::KeyedItem: return parent() + "[" + text(source.index) + "]";
    case Step::Keys: return "tuple(" + parent() + ")";
    case Step::Values: return "tuple(" + parent() + ".values())";
    case Step::Type: return "type(" + parent() + ")";
    case Step::TypeLookup:
    case Step::Member: return parent() + "." + plain(source.key);
    case Step::CellContents: return parent() + ".cell_contents";
    case Step::Closure: return parent() + ".__closure__[" + std::to_string(source.index) + "]";
    case Step::Default: return parent() + ".__defaults__[" + std::to_string(source.index) + "]";
    case Step::KeywordDefault: return parent() + ".__kwdefaults__[" + repr(source.key) + "]";
    case Step::MethodFunction: return parent() + ".__func__";
    case Step::MethodSelf: return parent() + ".__self__";
    case Step::Grad: return parent() + ".grad";
    case Step::Turned: return parent();
    case Step::Referent: return parent() + "()";
    case Step::Viewed: return parent() + ".mapping";
    case Step::Remembered: return parent() + "[" + repr(source.key) + "]";
    case Step::Handled: return "sys.exception()";
    case Step::Thread: return "threading.get_ident()";
    case Step::Leaf:
      return std::string(reinterpret_cast<PyTypeObject*>(source.key)->tp_name) + "(" + parent() +
             ")";
    case Step::Upcoming:
      return "next(" + parent() + ")" +
             (source.index > 0 ? " behind " + std::to_string(source.index) : "");
  }
  return "?";
}

namespace {

PyObject* item_of(PyObject* dict, PyObject* key) {
  PyObject* value = PyDict_Check(dict) ? PyDict_GetItemWithError(dict, key) : nullptr;
  if (value == nullptr && PyErr_Occurred()) PyErr_Clear();
  return value;
}

PyObject* keep(PyObject* made, std::vector<Owned>& held) {
  if (made == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  held.emplace_back(made);
  return made;
}

// Those of an ordered dict lie in the order of its keys, which only its class knows.
PyObject* values_in_order(PyObject* dict) {
  if (!PyODict_Check(dict)) {
    Owned values(PyDict_Values(dict));
    return values ? PyList_AsTuple(values.get()) : nullptr;
  }
  Owned views(PyObject_CallMethodOneArg(reinterpret_cast<PyObject*>(&PyODict_Type),
                                        PyUnicode_InternFromString("values"), dict));
  return views ? PySequence_Tuple(views.get()) : nullptr;
}

PyObject* item_of_sequence(PyObject* parent, int index) {
  if (PyTuple_Check(parent))
    return index < PyTuple_GET_SIZE(parent) || index < num_fields(parent)
               ? PyTuple_GET_ITEM(parent, index)
               : nullptr;
  if (!PyList_Check(parent) || index >= PyList_GET_SIZE(parent)) return nullptr;
  return PyList_GET_ITEM(parent, index);
}

PyObject* grad_of(PyObject* parent, std::vector<Owned>& held) {
  if (!python::is_tensor(parent)) return nullptr;
  return keep(python::wrap(autograd::grad(python::tensor_of(parent))), held);
}

// As Parameter(tensor) does.
PyObject* leaf_of(PyObject* tensor, PyObject* type) {
  static PyObject* const make =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(python::tensor_type), "_make_subclass");
  PyObject* const arguments[] = {type, tensor, Py_True};
  return PyObject_Vectorcall(make, arguments, 3, nullptr);
}

}  // namespace

Tensor turned(const Tensor& t) {
  const autograd::GradMode with_history(true);
  const Tensor positive = t.is_neg() ? _neg_view(t) : t;
  return positive.is_conj() ? conj(positive) : positive;
}

PyObject* follow(const Source& source, PyObject* parent, std::vector<Owned>& held) {
  const auto function = [&] { return reinterpret_cast<PyFunctionObject*>(parent); };
  switch (source.step) {
    case Step::Local:
    case Step::KeyedItem: return nullptr;
    case Step::Handled: return PyThreadState_Get()->exc_info->exc_value;
    case Step::Thread: return keep(PyLong_FromUnsignedLong(PyThread_get_thread_ident()), held);
    case Step::Pinned: return source.key;
    // The instance keeps its dict.
    case Step::InstanceDict: {
      Owned dict(PyObject_GenericGetDict(parent, nullptr));
      if (!dict) PyErr_Clear();
      return dict.get();
    }
    case Step::ThreadDict:
      return is_thread_local(Py_TYPE(parent))
                 ? keep(PyObject_GetAttrString(parent, "__dict__"), held)
                 : nullptr;
    case Step::Item: return item_of(parent, source.key);
    case Step::Values: return PyDict_Check(parent) ? keep(values_in_order(parent), held) : nullptr;
    case Step::Keys:
      return PyDict_Check(parent) || PyAnySet_Check(parent) ? keep(keys_in_order(parent), held)
                                                            : nullptr;
    case Step::Index:
      if (Py_IS_TYPE(parent, deque_type()))
        return keep(PySequence_GetItem(parent, source.index), held);
      return item_of_sequence(parent, source.index);
    case Step::Type: return reinterpret_cast<PyObject*>(Py_TYPE(parent));
    case Step::TypeLookup:
      return PyType_Check(parent)
                 ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(parent), source.key)
                 : nullptr;
    case Step::Member: return keep(PyObject_GenericGetAttr(parent, source.key), held);
    case Step::CellContents: return PyCell_Check(parent) ? PyCell_GET(parent) : nullptr;
    case Step::Closure: {
      PyObject* cells = PyFunction_Check(parent) ? function()->func_closure : nullptr;
      return cells == nullptr ? nullptr : item_of_sequence(cells, source.index);
    }
    case Step::Default: {
      PyObject* values = PyFunction_Check(parent) ? function()->func_defaults : nullptr;
      return values == nullptr ? nullptr : item_of_sequence(values, source.index);
    }
    case Step::KeywordDefault: {
      PyObject* values = PyFunction_Check(parent) ? function()->func_kwdefaults : nullptr;
      return values == nullptr ? nullptr : item_of(values, source.key);
    }
    case Step::MethodFunction:
      return PyMethod_Check(parent) ? PyMethod_GET_FUNCTION(parent) : nullptr;
    case Step::MethodSelf:
      if (PyCFunction_Check(parent)) return PyCFunction_GET_SELF(parent);
      return PyMethod_Check(parent) ? PyMethod_GET_SELF(parent) : nullptr;
    case Step::Grad: return grad_of(parent, held);
    case Step::Turned:
      if (!python::is_tensor(parent)) return nullptr;
      return keep(python::wrap(turned(python::tensor_of(parent))), held);
    case Step::Leaf:
      return python::is_tensor(parent) ? keep(leaf_of(parent, source.key), held) : nullptr;
    case Step::Referent:
      return is_weak_reference(parent) || PyWeakref_CheckProxy(parent)
                 ? PyWeakref_GET_OBJECT(parent)
                 : nullptr;
    case Step::Viewed: return viewed_mapping(parent);
    case Step::Upcoming: return keep(upcoming(parent, source.index), held);
    case Step::Remembered: {
      PyObject* place = item_of(parent, source.key);
      return place == nullptr ? nullptr : remembered_result(place);
    }
  }
  return nullptr;
}

}  // namespace taeda::dynamo
