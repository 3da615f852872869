// torch:: names of tensors, options and factories.
#pragma once

#include <cmath>  // programs for PyTorch use std::isnan without it

#include "ATen/ATen.h"
#include "ATen/TensorIndexing.h"

namespace torch {
namespace indexing = ::taeda::indexing;
}
