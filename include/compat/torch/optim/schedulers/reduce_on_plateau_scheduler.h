// torch::optim: rates that fall on a plateau.
#pragma once

#include "taeda/optim/lr_scheduler.h"
#include "torch/types.h"
