// torch::nn::functional: losses.
#pragma once

#include "taeda/nn/functional/loss.h"
#include "torch/enum.h"
#include "torch/types.h"
