// torch::optim: RMSprop.
#pragma once

#include "taeda/optim/rmsprop.h"
#include "torch/types.h"
