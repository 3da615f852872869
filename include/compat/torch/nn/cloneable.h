// torch::nn::Cloneable.
#pragma once

#include "torch/nn/pimpl.h"
