// torch::nn::functional: interpolation.
#pragma once

#include "taeda/nn/functional/upsampling.h"
#include "torch/enum.h"
#include "torch/types.h"
