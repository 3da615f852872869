// torch::nn: convolutions.
#pragma once

#include "taeda/nn/modules/conv.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
