// torch::optim: schedules of the rate.
#pragma once

#include "taeda/optim/schedulers/lr_scheduler.h"
#include "torch/types.h"
