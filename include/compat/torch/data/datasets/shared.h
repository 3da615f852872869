// PyTorch's header of this name.
#pragma once

#include "taeda/data/datasets/shared.h"
#include "torch/types.h"
