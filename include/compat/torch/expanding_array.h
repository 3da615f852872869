// torch::ExpandingArray.
#pragma once

#include "taeda/nn/expanding_array.h"
#include "torch/types.h"
