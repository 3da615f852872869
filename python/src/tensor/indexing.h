// x[...] and x[...] = value: Python indices as views and index tensors.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

// An index taken apart: the view that its basic part gives, and the index tensors of its advanced
// part.
struct Indexed {
  Tensor view;
  // One per dimension of `view` (a mask covers as many as it has); undefined takes the dimension
  // whole. Empty when the index has no advanced part.
  std::vector<Tensor> indices;
};
Indexed apply_index(const Tensor& self, PyObject* index);

}  // namespace taeda::python
