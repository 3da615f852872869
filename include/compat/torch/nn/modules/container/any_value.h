// torch::nn::AnyValue.
#pragma once

#include "taeda/nn/any_value.h"
#include "torch/nn/pimpl.h"
