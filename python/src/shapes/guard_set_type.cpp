// The methods of GuardSet: texts, the first condition that fails, the values of symbols.
#include "python/src/shapes/guard_set_type.h"

#include <memory>
#include <new>

#include "python/interop/numbers.h"
#include "python/interop/wrap.h"
#include "python/src/args/read_sequence.h"
#include "python/src/shapes/sym_types.h"

namespace taeda::python {

using fx::ShapeEnv;

namespace {

PyTypeObject* guard_set_type = nullptr;

struct GuardSetObject {
  PyObject_HEAD fx::GuardSet* set;
  IntrusivePtr<ShapeEnv> env;  // owns the expressions
};

const fx::GuardSet& set_of(PyObject* o) { return *reinterpret_cast<GuardSetObject*>(o)->set; }
void guard_set_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* object = reinterpret_cast<GuardSetObject*>(self);
  delete object->set;
  std::destroy_at(&object->env);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* wrap_texts(const std::vector<std::string>& texts) {
  Ref list(checked(PyList_New(0)));
  for (const std::string& text : texts) {
    const Ref item(checked(wrap(text)));
    PyList_Append(list.get(), item.get());
  }
  return list.release();
}
PyObject* texts(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_texts(set_of(self).texts()); });
}
PyObject* short_texts(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_texts(set_of(self).short_texts()); });
}
std::vector<int64_t> read_values(PyObject* self, PyObject* values) {
  const auto read = read_sequence<int64_t>(values, to_int64);
  TAEDA_CHECK_VALUE(read.size() == set_of(self).inputs.size(), "expected ",
                    set_of(self).inputs.size(), " values, got ", read.size());
  return read;
}
PyObject* first_failure(PyObject* self, PyObject* values) {
  return guarded([&] {
    const auto failure = set_of(self).first_failure(read_values(self, values));
    return failure ? wrap(static_cast<int64_t>(*failure)) : Py_NewRef(Py_None);
  });
}
PyObject* bind(PyObject* self, PyObject* values) {
  return guarded([&]() -> PyObject* {
    Ref dict(checked(PyDict_New()));
    const auto& env = reinterpret_cast<GuardSetObject*>(self)->env;
    for (const auto& [symbol, value] : set_of(self).bind(read_values(self, values))) {
      const Ref key(checked(wrap_expr(env, symbol))), item(checked(wrap(value.integer)));
      PyDict_SetItem(dict.get(), key.get(), item.get());
    }
    return dict.release();
  });
}
PyMethodDef guard_set_methods[] = {{"texts", texts, METH_NOARGS, nullptr},
                                   {"short_texts", short_texts, METH_NOARGS, nullptr},
                                   {"first_failure", first_failure, METH_O, nullptr},
                                   {"bind", bind, METH_O, nullptr},
                                   {}};
PyType_Slot guard_set_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(guard_set_dealloc)},
                                 {Py_tp_methods, guard_set_methods},
                                 {0, nullptr}};
PyType_Spec guard_set_spec = {"taeda._C._fx.GuardSet", sizeof(GuardSetObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              guard_set_slots};

}  // namespace

PyObject* wrap_guard_set(fx::GuardSet set, const IntrusivePtr<ShapeEnv>& env) {
  auto kept = std::make_unique<fx::GuardSet>(std::move(set));
  auto* o = reinterpret_cast<GuardSetObject*>(checked(guard_set_type->tp_alloc(guard_set_type, 0)));
  o->set = kept.release();
  new (&o->env) IntrusivePtr<ShapeEnv>(env);
  return reinterpret_cast<PyObject*>(o);
}

bool init_guard_set_type() {
  guard_set_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guard_set_spec));
  return guard_set_type != nullptr;
}

}  // namespace taeda::python
