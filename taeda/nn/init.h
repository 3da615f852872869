// Initial values of parameters, with PyTorch's names and random order. All write in place without
// gradients and return the tensor.
#pragma once

#include <cstdint>
#include <utility>

#include "taeda/core/tensor.h"
#include "taeda/nn/enum.h"

namespace taeda::nn::init {

using NonlinearityType =
    std::variant<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D,
                 enumtype::kConvTranspose1D, enumtype::kConvTranspose2D, enumtype::kConvTranspose3D,
                 enumtype::kSigmoid, enumtype::kTanh, enumtype::kReLU, enumtype::kLeakyReLU>;
using FanModeType = std::variant<enumtype::kFanIn, enumtype::kFanOut>;

TAEDA_API double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);
TAEDA_API Tensor constant_(Tensor tensor, const Scalar& value);
TAEDA_API Tensor dirac_(Tensor tensor);
TAEDA_API Tensor eye_(Tensor matrix);
TAEDA_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
TAEDA_API Tensor ones_(Tensor tensor);
TAEDA_API Tensor zeros_(Tensor tensor);
TAEDA_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
TAEDA_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                 NonlinearityType nonlinearity = kLeakyReLU);
TAEDA_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                  NonlinearityType nonlinearity = kLeakyReLU);
// A matrix with orthonormal rows or columns, times gain; further dimensions count as columns.
TAEDA_API Tensor orthogonal_(Tensor tensor, double gain = 1);
// A matrix whose columns each have round(sparsity * rows) zeros at random places.
TAEDA_API Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);
TAEDA_API Tensor xavier_normal_(Tensor tensor, double gain = 1);
TAEDA_API Tensor xavier_uniform_(Tensor tensor, double gain = 1);

// Inputs and outputs that an element of a weight meets.
TAEDA_API std::pair<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace taeda::nn::init
