// torch::nn: options of layers.
#pragma once

#include "torch/nn/options.h"
