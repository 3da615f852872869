// PyTorch's header of this name: transforms.
#pragma once

#include "taeda/data/transforms/transform.h"
#include "torch/types.h"
