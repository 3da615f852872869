// PyTorch's header of this name: options of data loaders.
#pragma once

#include "taeda/data/data_loader_options.h"
#include "torch/types.h"
