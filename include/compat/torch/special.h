// torch::special: functions of special functions under their short names.
#pragma once

#include "taeda/ops/short_names.h"
#include "torch/types.h"

namespace torch {
namespace special = ::taeda::special;
}
