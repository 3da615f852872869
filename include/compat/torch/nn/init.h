// torch::nn::init.
#pragma once

#include "taeda/nn/init.h"
#include "torch/types.h"
