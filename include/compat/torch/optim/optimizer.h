// torch::optim: what optimizers share.
#pragma once

#include "taeda/optim/optimizer.h"
#include "torch/types.h"
