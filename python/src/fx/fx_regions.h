// Regions of C++ as Python objects: taeda.fx.control_flow._regions.ClosedGraph.
#pragma once

#include "python/interop/python.h"

#include "taeda/dispatch/operator.h"
#include "taeda/fx/arg.h"

namespace taeda::fx {
class RegionValue;
}

namespace taeda::python {

// What stands for the region in Python: the function that it was made of, or a ClosedGraph. A new
// reference.
PyObject* wrap_region(const fx::RegionValue& region);

// The object of taeda.ops.higher_order for an operator of control flow, borrowed; null for others.
PyObject* control_flow_object(const dispatch::Operator& op);

// Values of any kind; regions too. New references.
PyObject* wrap_any(const dispatch::Value& v);
PyObject* wrap_tuple(const std::vector<dispatch::Value>& values);
PyObject* wrap_list(const std::vector<dispatch::Value>& values);
dispatch::Value read_any(PyObject* o);
// Of a sequence; `message` is the error for other objects.
std::vector<dispatch::Value> read_values(PyObject* o, const char* message);

bool init_regions(PyObject* module);

}  // namespace taeda::python
