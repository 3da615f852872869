// Hand-written methods and attributes of Tensor that look for overrides before they run.
//
// The tables they come from know nothing of it: each method is replaced by an entry point of its
// own (C functions carry no data, so there is one instantiation a slot), each attribute by a pair
// of accessors that find the original through the closure.
#include <utility>

#include "python/src/dispatch/overrides.h"

namespace taeda::python {

namespace {

constexpr size_t kMaxMethods = 128;
PyMethodDef originals[kMaxMethods];
size_t num_originals = 0;

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

Py_ssize_t num_given(Py_ssize_t nargs, PyObject* kwnames) {
  return nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
}

PyObject* fast_override(const char* name, PyObject* self, PyObject* const* argv, Py_ssize_t nargs,
                        PyObject* kwnames) {
  Overloaded overloaded;
  overloaded.add_if_overrides(self);
  for (Py_ssize_t i = 0; i < num_given(nargs, kwnames); ++i) overloaded.add_if_overrides(argv[i]);
  if (overloaded.size() == 0) overloaded.add(self);
  Ref args, kwargs;
  if (!pack_call(self, argv, nargs, kwnames, args, kwargs)) return nullptr;
  return call_override(tensor_callee(name), overloaded, args.get(), kwargs.get());
}

bool is_fast_overridden(PyObject* self, PyObject* const* argv, Py_ssize_t count) {
  if (is_overridden(self)) return true;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (overrides(argv[i])) return true;
  return false;
}

// METH_NOARGS, where `arg` is null, and METH_O.
template <size_t slot>
PyObject* simple_entry(PyObject* self, PyObject* arg) {
  const PyMethodDef& method = originals[slot];
  if (is_overridden(self) || (arg && overrides(arg)))
    return call_method_override(tensor_callee(method.ml_name), self, arg);
  return method.ml_meth(self, arg);
}

template <size_t slot>
PyObject* fast_entry(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  const PyMethodDef& method = originals[slot];
  if (is_fast_overridden(self, argv, num_given(nargs, kwnames)))
    return fast_override(method.ml_name, self, argv, nargs, kwnames);
  return reinterpret_cast<FastFunction>(reinterpret_cast<void (*)()>(method.ml_meth))(
      self, argv, nargs, kwnames);
}

template <size_t slot>
PyObject* tuple_entry(PyObject* self, PyObject* args, PyObject* kwargs) {
  const PyMethodDef& method = originals[slot];
  if (is_overridden(self)) {
    Overloaded overloaded;
    overloaded.add(self);
    Ref head(PyTuple_Pack(1, self));
    Ref all(head ? PySequence_Concat(head.get(), args) : nullptr);
    return all ? call_override(tensor_callee(method.ml_name), overloaded, all.get(), kwargs)
               : nullptr;
  }
  return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(method.ml_meth))(
      self, args, kwargs);
}

struct Entry {
  PyCFunction simple, fast, tuple;
};
template <size_t... slots>
Entry entry_at(size_t slot, std::index_sequence<slots...>) {
  static const Entry entries[] = {
      {simple_entry<slots>, as_function(fast_entry<slots>), as_function(tuple_entry<slots>)}...};
  return entries[slot];
}

// ---- attributes ----
PyObject* get_attribute(PyObject* self, void* closure) {
  const auto& property = *static_cast<const PyGetSetDef*>(closure);
  if (is_overridden(self))
    return call_method_override(tensor_callee(property.name, "__get__"), self);
  return property.get(self, property.closure);
}

int set_attribute(PyObject* self, PyObject* value, void* closure) {
  const auto& property = *static_cast<const PyGetSetDef*>(closure);
  if (!is_overridden(self)) return property.set(self, value, property.closure);
  const char* accessor = value ? "__set__" : "__delete__";
  Ref result(call_method_override(tensor_callee(property.name, accessor), self, value));
  return result ? 0 : -1;
}

}  // namespace

PyMethodDef overridable_method(const PyMethodDef& method) {
  TAEDA_INTERNAL_CHECK(num_originals < kMaxMethods, "more hand-written methods than slots");
  originals[num_originals] = method;
  const Entry entry = entry_at(num_originals++, std::make_index_sequence<kMaxMethods>());
  PyMethodDef out = method;
  if (method.ml_flags == METH_NOARGS || method.ml_flags == METH_O)
    out.ml_meth = entry.simple;
  else if (method.ml_flags == (METH_FASTCALL | METH_KEYWORDS))
    out.ml_meth = entry.fast;
  else if (method.ml_flags == (METH_VARARGS | METH_KEYWORDS))
    out.ml_meth = entry.tuple;
  else
    TAEDA_INTERNAL_CHECK(false, "no override for the calling convention of ", method.ml_name);
  return out;
}

PyGetSetDef overridable_property(const PyGetSetDef& property) {
  // Lives as long as the type.
  auto* original = new PyGetSetDef(property);
  return {property.name, get_attribute, property.set ? set_attribute : nullptr, property.doc,
          original};
}

}  // namespace taeda::python
