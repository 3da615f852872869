// PyTorch's header of this name: examples.
#pragma once

#include "taeda/data/example.h"
#include "torch/types.h"
