// Decomposition tables of Python as C++ calls them.
#pragma once

#include "python/interop/python.h"

#include <memory>
#include <unordered_map>

#include "taeda/dispatch/operator.h"
#include "taeda/ops/decompositions.h"

namespace taeda::python {

// {operator: function}; the library's own decompositions run without Python.
class DecompositionTable {
 public:
  explicit DecompositionTable(PyObject* dict);
  // Runs the function of an operator instead of it; false where there is none, or it declined.
  bool operator()(dispatch::Operator& op, dispatch::Stack& stack) const;

 private:
  struct Entry {
    const Decomposition* native = nullptr;
    std::shared_ptr<PyObject> function;
  };
  std::unordered_map<const dispatch::Operator*, Entry> functions_;
};

}  // namespace taeda::python
