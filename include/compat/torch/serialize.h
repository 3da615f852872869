// torch::save, torch::load and their archives.
#pragma once

#include "taeda/nn/serialize.h"
#include "torch/types.h"

namespace torch {
namespace serialize = ::taeda::serialization;
}
