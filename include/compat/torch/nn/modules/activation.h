// torch::nn: activations.
#pragma once

#include "taeda/nn/modules/activation.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
