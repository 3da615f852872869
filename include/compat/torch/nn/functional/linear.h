// torch::nn::functional: linear maps.
#pragma once

#include "taeda/nn/functional/linear.h"
#include "torch/enum.h"
#include "torch/types.h"
