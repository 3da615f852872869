// torch::linalg: functions of matrices under their short names.
#pragma once

#include "taeda/ops/short_names.h"
#include "torch/types.h"

namespace torch::linalg {
using namespace ::taeda::linalg;
}  // namespace torch::linalg
