// torch::optim: StepLR.
#pragma once

#include "taeda/optim/schedulers/decay.h"
#include "torch/types.h"
