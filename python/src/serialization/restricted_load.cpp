// Pickles from Python: read by the restricted machine, and looked through for names.
#include <memory>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/serialization/file_objects.h"
#include "python/src/serialization/python_model.h"
#include "python/src/serialization/serialization_functions.h"
#include "taeda/serialization/pickle/globals.h"
#include "taeda/serialization/pickle/unpickler.h"

namespace taeda::python {
namespace {

using serialization::ByteReader;
using serialization::PickleEndError;
using serialization::PickleError;

PyObject* unpickling_error() {
  static PyObject* type = [] {
    const Ref pickle(checked(PyImport_ImportModule("_pickle")));
    return checked(PyObject_GetAttrString(pickle.get(), "UnpicklingError"));
  }();
  return type;
}

// As `guarded`, with the exceptions of pickle.
template <class F>
PyObject* guarded_pickle(F&& f) {
  return guarded([&]() -> PyObject* {
    try {
      return f();
    } catch (const PickleEndError& e) {
      set_error(PyExc_EOFError, e.message());
    } catch (const PickleError& e) {
      set_error(unpickling_error(), e.message());
    }
    return nullptr;
  });
}

// Exceptions of Python keep their type and get the place into their words.
[[noreturn]] void throw_located(const PythonError& error, const ByteReader& bytes,
                                const PickleRules& rules) {
  error.restore();
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref place(checked(wrap(str("before ", bytes.place()))));
  Ref(checked(PyObject_CallFunctionObjArgs(rules.add_place.get(), value, place.get(), nullptr)));
  PyErr_Restore(type, value, trace);
  throw_python_error();
}

PyObject* load_from(ByteReader& bytes, PyObject* rules_object) {
  const PickleRules rules(rules_object);
  PythonModel model(rules);
  try {
    return serialization::Unpickler<PythonModel>(bytes, model).load().release();
  } catch (const PythonError& error) {
    throw_located(error, bytes, rules);
  }
}

std::string_view bytes_view(PyObject* o) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(o, &data, &size) < 0) throw_python_error();
  return {data, static_cast<size_t>(size)};
}

// _restricted_load(bytes or a file, rules, name, start): a file stands behind the pickle
// afterwards; name and start say where the pickle is, for messages
PyObject* restricted_load(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return guarded_pickle([&] {
    TAEDA_CHECK_TYPE(nargs == 4, "_restricted_load takes a file, rules, a name and a start");
    const std::string name = text_of(args[2]);
    const auto start = static_cast<uint64_t>(to_int64(args[3]));
    if (PyBytes_Check(args[0])) {
      ByteReader bytes(bytes_view(args[0]), name, start);
      return load_from(bytes, args[1]);
    }
    ObjectReader file(args[0], name, start);
    Ref result(load_from(file, args[1]));
    file.give_back();
    return result.release();
  });
}

// _pickle_globals(bytes) -> ["module.name", ...]
PyObject* pickle_globals(PyObject*, PyObject* pickle) {
  return guarded_pickle([&] {
    Ref names(checked(PyList_New(0)));
    for (const std::string& name : serialization::globals_in_pickle(bytes_view(pickle))) {
      const Ref text(checked(wrap(name)));
      if (PyList_Append(names.get(), text.get()) < 0) throw_python_error();
    }
    return names.release();
  });
}

// _move_pickle_globals(bytes, from, to) -> bytes
PyObject* move_pickle_globals(PyObject*, PyObject* args) {
  PyObject* pickle = nullptr;
  const char *from = nullptr, *to = nullptr;
  if (!PyArg_ParseTuple(args, "Sss:_move_pickle_globals", &pickle, &from, &to)) return nullptr;
  return guarded_pickle([&] {
    std::string bytes(bytes_view(pickle));
    serialization::move_globals(bytes, from, to);
    return checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  });
}

}  // namespace

PyMethodDef pickle_table[] = {
    {"_restricted_load", as_function(restricted_load), METH_FASTCALL, nullptr},
    {"_pickle_globals", pickle_globals, METH_O, nullptr},
    {"_move_pickle_globals", move_pickle_globals, METH_VARARGS, nullptr},
    {},
};

}  // namespace taeda::python
