// torch::nn::functional: activations.
#pragma once

#include "taeda/nn/functional/activation.h"
#include "torch/enum.h"
#include "torch/types.h"
