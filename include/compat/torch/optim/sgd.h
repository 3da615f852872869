// torch::optim: SGD.
#pragma once

#include "taeda/optim/sgd.h"
#include "torch/types.h"
