// torch::nn::utils: convert_parameters.
#pragma once

#include "taeda/nn/utils/convert_parameters.h"
#include "torch/types.h"
