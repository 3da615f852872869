// torch::optim: LBFGS.
#pragma once

#include "taeda/optim/lbfgs.h"
#include "torch/types.h"
