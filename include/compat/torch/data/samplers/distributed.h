// PyTorch's header of this name.
#pragma once

#include "taeda/data/samplers/distributed.h"
#include "torch/types.h"
