// torch::autograd::grad and backward.
#pragma once

#include "torch/csrc/autograd/custom_function.h"
