// torch::nn: layers, their functions and tools.
#pragma once

#include "taeda/nn/nn.h"
#include "torch/enum.h"
#include "torch/nn/bases.h"
#include "torch/nn/pimpl.h"
#include "torch/types.h"
