// Python bindings: pybind11, which converts tensors too.
#pragma once

#include "torch/csrc/autograd/python_variable.h"
#include "torch/csrc/utils/pybind.h"

namespace torch {
namespace py = ::pybind11;
}
