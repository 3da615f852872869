// PyTorch's header of this name.
#pragma once

#include "taeda/data/transforms/stack.h"
#include "torch/types.h"
