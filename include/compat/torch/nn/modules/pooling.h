// torch::nn: pooling.
#pragma once

#include "taeda/nn/modules/pooling.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
