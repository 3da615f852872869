// PyTorch's header of this name.
#pragma once

#include "taeda/data/transforms/tensor.h"
#include "torch/types.h"
