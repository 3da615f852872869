// PyTorch's header of this name.
#pragma once

#include "taeda/data/samplers/sequential.h"
#include "torch/types.h"
