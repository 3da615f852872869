// Python bindings: pybind11, which converts tensors too.
#pragma once

#include "torch/csrc/utils/pybind.h"

namespace torch {
namespace py = ::pybind11;
}
