// torch::linalg: functions of matrices under their short names.
#pragma once

#include "taeda/ops/short_names.h"
#include "torch/types.h"

namespace torch {
namespace linalg = ::taeda::linalg;
}
