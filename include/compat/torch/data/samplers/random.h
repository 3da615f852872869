// PyTorch's header of this name.
#pragma once

#include "taeda/data/samplers/random.h"
#include "torch/types.h"
