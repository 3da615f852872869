// The items of a Python sequence as values of one type.
#pragma once

#include <vector>

#include "python/interop/errors.h"

namespace taeda::python {

// read(item) for each item; nothing for null and None. Throws TypeError for other objects.
template <class T, class Read>
std::vector<T> read_sequence(PyObject* o, Read&& read) {
  std::vector<T> out;
  if (!o || o == Py_None) return out;
  const Ref list(checked(PySequence_Fast(o, "expected a sequence")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    out.push_back(read(PySequence_Fast_GET_ITEM(list.get(), i)));
  return out;
}

}  // namespace taeda::python
