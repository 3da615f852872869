// torch::headeronly's TensorAccessor.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
