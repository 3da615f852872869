// PyTorch's header of this name.
#pragma once

#include "taeda/data/datasets/stateful.h"
#include "torch/types.h"
