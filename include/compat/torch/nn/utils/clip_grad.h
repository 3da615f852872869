// torch::nn::utils: clip_grad.
#pragma once

#include "taeda/nn/utils/clip_grad.h"
#include "torch/types.h"
