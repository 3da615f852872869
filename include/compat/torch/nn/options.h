// Options of the layers of torch::nn.
#pragma once

#include "taeda/nn/modules.h"
#include "torch/enum.h"
#include "torch/nn/bases.h"
#include "torch/types.h"
