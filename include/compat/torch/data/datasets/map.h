// PyTorch's header of this name: datasets.
#pragma once

#include "taeda/data/datasets/dataset.h"
#include "torch/types.h"
