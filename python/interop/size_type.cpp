// taeda.Size: a tuple of sizes that prints as torch.Size([2, 3]).
#include "python/interop/types.h"

#include <string>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* size_type = nullptr;

namespace {

PyObject* size_create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Ref self(PyTuple_Type.tp_new(type, args, kwargs));
  if (!self) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(self.get(), i);
    if (PyLong_Check(item) || is_symint(item)) continue;
    if (!is_integer(item)) {
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyObject* plain = guarded([&] { return wrap(to_int64(item)); });
    if (!plain) return nullptr;
    PyTuple_SET_ITEM(self.get(), i, plain);
    Py_DECREF(item);
  }
  return self.release();
}

// As a tuple; the way of types without a function for it takes several times as long.
void size_free(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyTuple_Type.tp_dealloc(self);
  Py_DECREF(type);
}

PyObject* size_repr(PyObject* self) {
  return guarded([&] {
    std::string out = "torch.Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      Ref item(checked(PyObject_Repr(PyTuple_GET_ITEM(self, i))));
      const char* utf8 = PyUnicode_AsUTF8(item.get());
      if (!utf8) throw_python_error();
      out += str(i ? ", " : "", utf8);
    }
    return wrap(out + "])");
  });
}

PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] {
    SymInt n = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
      n *= to_symint(PyTuple_GET_ITEM(self, i));
    return wrap(n);
  });
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  Ref items(PySequence_List(self));
  return items ? Py_BuildValue("(O(O))", Py_TYPE(self), items.get()) : nullptr;
}

// The result of tuple's operation, turned into a Size if it is a tuple.
PyObject* as_size(Ref result) {
  if (!result || !PyTuple_Check(result.get())) return result.release();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), result.get());
}
PyObject* concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(Ref(PyTuple_Type.tp_as_sequence->sq_concat(a, b)));
}
PyObject* sequence_concat(PyObject* a, PyObject* b) {
  return as_size(Ref(PyTuple_Type.tp_as_sequence->sq_concat(a, b)));
}
PyObject* repeat(PyObject* a, Py_ssize_t n) {
  return as_size(Ref(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)));
}
PyObject* subscript(PyObject* a, PyObject* index) {
  return as_size(Ref(PyTuple_Type.tp_as_mapping->mp_subscript(a, index)));
}

PyMethodDef size_methods[] = {
    {"numel", numel, METH_NOARGS, nullptr},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {},
};
PyType_Slot size_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("The sizes of a tensor's dimensions: a tuple of integers with `numel()`.")},
    {Py_tp_base, &PyTuple_Type},
    {Py_tp_new, reinterpret_cast<void*>(size_create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(size_free)},
    {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
    {Py_tp_methods, size_methods},
    {Py_nb_add, reinterpret_cast<void*>(concat)},
    {Py_sq_concat, reinterpret_cast<void*>(sequence_concat)},
    {Py_sq_repeat, reinterpret_cast<void*>(repeat)},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {0, nullptr},
};
PyType_Spec size_spec = {"taeda.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

}  // namespace

PyObject* wrap_size(SymIntList sizes) {
  // Sizes of any length are allocated as tuples are; only the type differs.
  PyObject* o = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (!o) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* item = wrap(sizes[i]);
    if (!item) {
      Py_DECREF(o);
      return nullptr;
    }
    PyTuple_SET_ITEM(o, static_cast<Py_ssize_t>(i), item);
  }
  return o;
}

bool init_size_type(PyObject* module) {
  size_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&size_spec));
  return size_type &&
         PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)) == 0;
}

}  // namespace taeda::python
