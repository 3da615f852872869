// torch::kMean and other choices of options.
#pragma once

#include "taeda/nn/enum.h"
#include "torch/types.h"
