// torch::nn: adaptive softmax.
#pragma once

#include "taeda/nn/modules/adaptive.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
