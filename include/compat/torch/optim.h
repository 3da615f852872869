// torch::optim.
#pragma once

#include "taeda/optim/optim.h"
#include "torch/types.h"
