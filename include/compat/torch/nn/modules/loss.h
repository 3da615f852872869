// torch::nn: losses.
#pragma once

#include "taeda/nn/modules/loss.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
