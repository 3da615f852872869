// torch::nn::functional.
#pragma once

#include "taeda/nn/functional.h"
#include "torch/enum.h"
#include "torch/types.h"
