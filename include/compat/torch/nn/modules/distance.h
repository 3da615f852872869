// torch::nn: distances.
#pragma once

#include "taeda/nn/modules/linear.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
