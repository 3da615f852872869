// Initial values of parameters, with PyTorch's names and random order. All write in place without
// gradients and return the tensor.
#pragma once

#include <cstdint>
#include <utility>

#include "taeda/core/tensor.h"

namespace taeda::nn::init {

enum class FanMode { FanIn, FanOut };
enum class Nonlinearity {
  Linear,
  Conv1D,
  Conv2D,
  Conv3D,
  ConvTranspose1D,
  ConvTranspose2D,
  ConvTranspose3D,
  Sigmoid,
  Tanh,
  ReLU,
  LeakyReLU
};

TAEDA_API double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);
TAEDA_API Tensor constant_(Tensor tensor, const Scalar& value);
TAEDA_API Tensor dirac_(Tensor tensor);
TAEDA_API Tensor eye_(Tensor matrix);
TAEDA_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
TAEDA_API Tensor ones_(Tensor tensor);
TAEDA_API Tensor zeros_(Tensor tensor);
TAEDA_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
TAEDA_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanMode mode = FanMode::FanIn,
                                 Nonlinearity nonlinearity = Nonlinearity::LeakyReLU);
TAEDA_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanMode mode = FanMode::FanIn,
                                  Nonlinearity nonlinearity = Nonlinearity::LeakyReLU);
TAEDA_API Tensor xavier_normal_(Tensor tensor, double gain = 1);
TAEDA_API Tensor xavier_uniform_(Tensor tensor, double gain = 1);

// Inputs and outputs that an element of a weight meets.
TAEDA_API std::pair<int64_t, int64_t> calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace taeda::nn::init
