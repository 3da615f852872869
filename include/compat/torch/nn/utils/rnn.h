// torch::nn::utils: rnn.
#pragma once

#include "taeda/nn/utils/rnn.h"
#include "torch/types.h"
