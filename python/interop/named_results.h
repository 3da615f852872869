// Results with names, as of `sort` and `max`: the types of taeda.return_types.
#pragma once

#include <initializer_list>
#include <tuple>

#include "python/interop/wrap.h"

namespace taeda::python {

// The struct-sequence type taeda.return_types.<name>, made at the first call and kept; null on
// error.
//   static PyTypeObject* const type = named_result_type("sort", {"values", "indices"});
PyTypeObject* named_result_type(const char* name, std::initializer_list<const char*> fields);
// The module taeda._C._return_types that holds them.
PyObject* return_types_module();

template <class... T>
PyObject* wrap_named(PyTypeObject* type, const std::tuple<T...>& values) {
  if (!type) return nullptr;
  Ref result(PyStructSequence_New(type));
  if (!result) return nullptr;
  const bool ok = fill_items(
      values, [&](Py_ssize_t i, PyObject* o) { PyStructSequence_SetItem(result.get(), i, o); });
  return ok ? result.release() : nullptr;
}

}  // namespace taeda::python
