// torch::nn::functional: sampling of images.
#pragma once

#include "taeda/nn/functional/upsampling.h"
#include "torch/enum.h"
#include "torch/types.h"
