// torch::nn: dropout.
#pragma once

#include "taeda/nn/modules/dropout.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
