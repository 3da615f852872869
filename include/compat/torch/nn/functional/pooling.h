// torch::nn::functional: pooling.
#pragma once

#include "taeda/nn/functional/pooling.h"
#include "torch/enum.h"
#include "torch/types.h"
