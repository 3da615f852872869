// Compiled programs as Python objects.
#pragma once

#include "python/interop/python.h"

#include <memory>
#include <string>
#include <vector>

#include "taeda/inductor/compile.h"

namespace taeda::python {

// How results are handed out: as the one there is, or as a flat tuple or list.
enum class ResultForm : uint8_t { One, Tuple, List };

// A compiled program and the plans it is made of.
struct Compiled {
  fx::CompiledFn run;
  std::vector<std::shared_ptr<inductor::CompiledGraph>> plans;
  std::string partition;    // what is saved for the backward, for people
  double plan_seconds = 0;  // spent on the plans
  double trace_seconds = 0;
  ResultForm form = ResultForm::List;
  bool is_short = true;  // the GIL is kept for small inputs
};

PyObject* wrap_compiled(std::shared_ptr<Compiled> compiled);
bool is_compiled_graph(PyObject* object);
bool init_compiled_type(PyObject* module);

// A list with a dict per plan.
PyObject* plan_reports(const Compiled& compiled);

}  // namespace taeda::python
