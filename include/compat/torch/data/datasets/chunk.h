// PyTorch's header of this name.
#pragma once

#include "taeda/data/datasets/chunk.h"
#include "torch/types.h"
