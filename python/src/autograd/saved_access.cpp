// Reading saved values of nodes by name, and packing them with Python callables.
#include "python/src/autograd/saved_access.h"

#include <new>
#include <string>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/tensor/storage_type.h"

namespace taeda::python {

namespace {

using autograd::Node;
using autograd::SavedTensor;

// ---- values ----

PyObject* wrap_value(const dispatch::Value& value);

template <class T>
PyObject* wrap_list(const std::vector<T>& values) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     checked(wrap_value(dispatch::Value(T(values[i])))));
  return tuple.release();
}

struct ValueWrapper {
  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(const Complex<double>& v) const { return PyComplex_FromDoubles(v.re, v.im); }
  PyObject* operator()(uint64_t v) const { return wrap(Scalar(v)); }
  PyObject* operator()(const Storage& v) const { return wrap_storage(v); }
  PyObject* operator()(const std::vector<Tensor>& v) const { return wrap(v); }
  template <class T>
  PyObject* operator()(const std::vector<T>& v) const {
    return wrap_list(v);
  }
  PyObject* operator()(const std::shared_ptr<dispatch::Value::List>& v) const {
    return wrap_list(*v);
  }
  PyObject* operator()(const IntrusivePtr<dispatch::Opaque>& v) const { return wrap(v->text()); }
  template <class T>
  PyObject* operator()(const T& v) const {
    return wrap(v);
  }
};

PyObject* wrap_value(const dispatch::Value& value) { return value.visit(ValueWrapper()); }

// ---- finding a field ----

enum class Field : uint8_t { Tensor, Tensors, Value };

class FieldLister final : public autograd::SavedVisitor {
 public:
  std::vector<std::pair<std::string, Field>> fields;
  void tensor(const char* name, SavedTensor&) override { fields.emplace_back(name, Field::Tensor); }
  void tensors(const char* name, std::vector<SavedTensor>&) override {
    fields.emplace_back(name, Field::Tensors);
  }
  void value(const char* name, dispatch::Value) override {
    fields.emplace_back(name, Field::Value);
  }
};

class FieldFinder final : public autograd::SavedVisitor {
 public:
  FieldFinder(const IntrusivePtr<Node>& node, std::string_view name, bool is_raw)
      : node_(node), name_(name), is_raw_(is_raw) {}
  PyObject* find() {
    node_->visit_saved(*this);
    return found_.release();
  }

  void tensor(const char* name, SavedTensor& saved) override {
    if (name_ == name) found_ = Ref(show(saved));
  }
  void tensors(const char* name, std::vector<SavedTensor>& list) override {
    if (name_ != name) return;
    Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(list.size()))));
    for (size_t i = 0; i < list.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), show(list[i]));
    found_ = std::move(tuple);
  }
  void value(const char* name, dispatch::Value value) override {
    if (name_ == name) found_ = Ref(checked(wrap_value(value)));
  }

 private:
  PyObject* show(SavedTensor& saved) const {
    return checked(is_raw_ ? wrap_saved(node_, saved)
                           : wrap(saved.unpack_with_history(node_.get())));
  }

  IntrusivePtr<Node> node_;
  std::string_view name_;
  bool is_raw_;
  Ref found_;
};

PyObject* get_saved(PyObject* self, void* name) {
  return guarded(
      [&] { return FieldFinder(node_behind(self), static_cast<const char*>(name), false).find(); });
}
PyObject* get_raw_saved(PyObject* self, void* name) {
  return guarded(
      [&] { return FieldFinder(node_behind(self), static_cast<const char*>(name), true).find(); });
}

// ---- hooks ----

class PythonPacked final : public autograd::PackedTensor {
 public:
  PythonPacked(std::shared_ptr<PyObject> value, std::shared_ptr<PyObject> unpack)
      : value_(std::move(value)), unpack_(std::move(unpack)) {}
  Tensor unpack() override {
    GilHold gil;
    Ref result(checked(PyObject_CallOneArg(unpack_.get(), value_.get())));
    TAEDA_CHECK_TYPE(
        is_tensor(result.get()),
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
        Py_TYPE(result.get())->tp_name);
    return tensor_of(result.get());
  }
  PyObject* value() const { return value_.get(); }
  PyObject* unpack_hook() const { return unpack_.get(); }

 private:
  std::shared_ptr<PyObject> value_, unpack_;
};

class PythonSavedHooks final : public autograd::SavedTensorHooks {
 public:
  PythonSavedHooks(PyObject* pack, PyObject* unpack)
      : pack_(keep_object(pack)), unpack_(keep_object(unpack)) {}
  IntrusivePtr<autograd::PackedTensor> pack(const Tensor& tensor) override {
    GilHold gil;
    Ref argument(checked(wrap(tensor)));
    Ref result(checked(PyObject_CallOneArg(pack_.get(), argument.get())));
    return make_intrusive<PythonPacked>(keep_object(result.get()), unpack_);
  }

 private:
  std::shared_ptr<PyObject> pack_, unpack_;
};

// ---- SavedTensor ----

struct SavedObject {
  PyObject_HEAD IntrusivePtr<Node> node;
  SavedTensor* saved;  // a member of the node, or ours where there is none
};
PyTypeObject* saved_type = nullptr;

SavedObject* object_of(PyObject* o) { return reinterpret_cast<SavedObject*>(o); }

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError,
                  "Trying to create a SavedTensor object from Python is forbidden.");
  return nullptr;
}

void saved_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (!object_of(self)->node) delete object_of(self)->saved;
  autograd::release_node(std::move(object_of(self)->node));
  object_of(self)->node.~IntrusivePtr<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* register_hooks(PyObject* self, PyObject* args) {
  PyObject *pack = nullptr, *unpack = nullptr;
  return guarded([&] {
    const bool are_two = PyArg_UnpackTuple(args, "register_hooks", 2, 2, &pack, &unpack) != 0;
    PyErr_Clear();
    TAEDA_CHECK_TYPE(are_two && PyCallable_Check(pack) && PyCallable_Check(unpack),
                     "register_hooks(): incompatible function arguments: expected two callables");
    object_of(self)->saved->register_hooks(saved_tensor_hooks(pack, unpack));
    return Py_NewRef(Py_None);
  });
}

PyObject* unpack(PyObject* self, PyObject*) {
  return guarded([&] {
    return wrap(object_of(self)->saved->unpack_with_history(object_of(self)->node.get()));
  });
}

const PythonPacked* packed_of(PyObject* self) {
  return dynamic_cast<const PythonPacked*>(object_of(self)->saved->kept_packed());
}

// What the pack hook returned; without hooks the tensor that is kept.
PyObject* get_data(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const SavedTensor& saved = *object_of(self)->saved;
    if (saved.is_freed()) autograd::fail_freed();
    const PythonPacked* packed = packed_of(self);
    return packed ? Py_NewRef(packed->value()) : wrap(saved.kept_tensor());
  });
}
PyObject* get_unpack_hook(PyObject* self, void*) {
  const PythonPacked* packed = packed_of(self);
  return Py_NewRef(packed ? packed->unpack_hook() : Py_None);
}

PyGetSetDef saved_tensor_getters[] = {
    {"data", get_data, nullptr, nullptr, nullptr},
    {"unpack_hook", get_unpack_hook, nullptr, nullptr, nullptr},
    {},
};
PyMethodDef saved_methods[] = {
    {"register_hooks", register_hooks, METH_VARARGS, nullptr},
    {"unpack", unpack, METH_NOARGS, nullptr},
    {},
};
PyType_Slot saved_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(refuse)},
    {Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
    {Py_tp_methods, saved_methods},
    {Py_tp_getset, saved_tensor_getters},
    {0, nullptr},
};
PyType_Spec saved_spec = {"taeda._C._autograd.SavedTensor", sizeof(SavedObject), 0,
                          Py_TPFLAGS_DEFAULT, saved_slots};

}  // namespace

PyGetSetDef* saved_getters(Node& node) {
  FieldLister lister;
  node.visit_saved(lister);
  auto* getters = new std::vector<PyGetSetDef>();
  for (const auto& [name, kind] : lister.fields) {
    auto* field = new std::string(name);
    auto* shown = new std::string("_saved_" + name);
    getters->push_back({shown->c_str(), get_saved, nullptr, nullptr, field->data()});
    if (kind == Field::Value) continue;
    auto* raw = new std::string("_raw_saved_" + name);
    getters->push_back({raw->c_str(), get_raw_saved, nullptr, nullptr, field->data()});
  }
  getters->push_back({});
  return getters->data();
}

PyObject* wrap_saved(const IntrusivePtr<Node>& node, SavedTensor& saved) {
  PyObject* self = saved_type->tp_alloc(saved_type, 0);
  if (!self) return nullptr;
  new (&object_of(self)->node) IntrusivePtr<Node>(node);
  object_of(self)->saved = &saved;
  return self;
}

IntrusivePtr<autograd::SavedTensorHooks> saved_tensor_hooks(PyObject* pack, PyObject* unpack) {
  return make_intrusive<PythonSavedHooks>(pack, unpack);
}

PyObject* make_saved_tensor(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"tensor", "is_output", nullptr};
  PyObject* tensor = nullptr;
  int is_output = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:_make_saved_tensor",
                                   const_cast<char**>(names), &tensor, &is_output))
    return nullptr;
  return guarded([&] {
    auto* saved = new SavedTensor(expect_tensor(tensor, "tensor"), is_output != 0);
    return wrap_saved(nullptr, *saved);
  });
}

bool init_saved_tensor_type(PyObject* module) {
  saved_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&saved_spec));
  return saved_type &&
         PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(saved_type)) == 0;
}

}  // namespace taeda::python
