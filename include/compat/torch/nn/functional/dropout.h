// torch::nn::functional: dropout.
#pragma once

#include "taeda/nn/functional/dropout.h"
#include "torch/enum.h"
#include "torch/types.h"
