// torch::optim: rates that fall on a plateau.
#pragma once

#include "taeda/optim/schedulers/reduce_on_plateau.h"
#include "torch/types.h"
