// Results with names, as of `sort` and `max`: the types of taeda.return_types.
#pragma once

#include <tuple>

#include "python/interop/wrap.h"

namespace taeda::python {

// The struct-sequence type taeda.return_types.<name>, made at the first call and kept; its fields
// are those of the operator's schema. `sort_out` is the type of `sort` with `out=`. Null with an
// AttributeError where no operator has named results under this name.
//   static PyTypeObject* const type = named_result_type("sort");
PyTypeObject* named_result_type(std::string_view name);
// The module taeda.return_types: a type is made when somebody asks for it, by name or by a call.
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
