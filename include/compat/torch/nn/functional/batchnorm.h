// torch::nn::functional: batch normalization.
#pragma once

#include "taeda/nn/functional/normalization.h"
#include "torch/enum.h"
#include "torch/types.h"
