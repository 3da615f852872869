// torch::nn: layers, their functions and tools.
#pragma once

#include "taeda/nn/nn.h"
#include "torch/enum.h"
#include "torch/nn/bases.h"
#include "torch/nn/init.h"
#include "torch/nn/pimpl.h"
#include "torch/types.h"

namespace torch {
// Layers print as torch::nn::Linear in programs that know them so.
inline const bool layers_print_torch_names = ::taeda::nn::set_layer_namespace("torch::nn::");
}  // namespace torch
