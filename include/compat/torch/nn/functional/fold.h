// torch::nn::functional: patches of images.
#pragma once

#include "taeda/nn/functional/fold.h"
#include "torch/enum.h"
#include "torch/types.h"
