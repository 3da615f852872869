// torch::optim: StepLR.
#pragma once

#include "taeda/optim/lr_scheduler.h"
#include "torch/types.h"
