// PyTorch's header of this name.
#pragma once

#include "taeda/data/datasets/tensor.h"
#include "torch/types.h"
