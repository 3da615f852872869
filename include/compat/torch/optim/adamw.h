// torch::optim: AdamW.
#pragma once

#include "taeda/optim/adam.h"
#include "torch/types.h"
