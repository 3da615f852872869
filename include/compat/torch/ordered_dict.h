// torch::OrderedDict.
#pragma once

#include "taeda/nn/ordered_dict.h"
#include "torch/types.h"
