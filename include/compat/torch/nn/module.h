// torch::nn::Module.
#pragma once

#include "torch/nn/pimpl.h"
