// torch::nn: interpolation.
#pragma once

#include "taeda/nn/modules/upsampling.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
