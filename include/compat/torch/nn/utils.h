// torch::nn::utils.
#pragma once

#include "taeda/nn/utils.h"
#include "torch/types.h"
