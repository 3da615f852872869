// PyTorch's header of this name: data loaders.
#pragma once

#include "taeda/data/data_loader.h"
#include "torch/types.h"
