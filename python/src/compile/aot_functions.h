// taeda._C._aot: programs of Python traced, differentiated and handed to compilers.
#pragma once

#include "python/interop/python.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::python {

// enter(), which gives a function that leaves the scope; null for None.
std::function<std::shared_ptr<void>()> read_scope(PyObject* o);
// Tells captures of programs that take this tensor that these sizes change.
void mark_changing_sizes(const Tensor& t, const std::vector<int64_t>& dims);

// The share of memory that a backward may save, from 0 to 1.
double read_memory_budget(PyObject* o);
bool init_aot(PyObject* module);

}  // namespace taeda::python
