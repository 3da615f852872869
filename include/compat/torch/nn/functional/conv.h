// torch::nn::functional: convolutions.
#pragma once

#include "taeda/nn/functional/conv.h"
#include "torch/enum.h"
#include "torch/types.h"
