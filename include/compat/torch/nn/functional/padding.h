// torch::nn::functional: padding.
#pragma once

#include "taeda/nn/functional/padding.h"
#include "torch/enum.h"
#include "torch/types.h"
