// PyTorch's header of this name: torch::data::transforms.
#pragma once

#include "taeda/data/data.h"
#include "torch/types.h"
