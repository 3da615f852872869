// PyTorch's header of this name: iterators of data loaders.
#pragma once

#include "taeda/data/iterator.h"
#include "torch/types.h"
