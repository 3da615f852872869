// PyTorch's header of this name: samplers.
#pragma once

#include "taeda/data/samplers/sampler.h"
#include "torch/types.h"
