// Python bindings by pybind11's names; tensors are among the types that they convert.
#pragma once

#include "pybind11/pybind11.h"

namespace torch {
namespace py = ::pybind11;
}
