// PyTorch's header of this name: requests of one's own.
#pragma once

#include "taeda/data/samplers/stream.h"
#include "torch/types.h"
