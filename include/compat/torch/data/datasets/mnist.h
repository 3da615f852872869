// PyTorch's header of this name.
#pragma once

#include "taeda/data/datasets/mnist.h"
#include "torch/types.h"
