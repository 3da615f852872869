// PyTorch's header of this name.
#pragma once

#include "taeda/data/samplers/stream.h"
#include "torch/types.h"
