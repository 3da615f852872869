// torch::optim: Adagrad.
#pragma once

#include "taeda/optim/adagrad.h"
#include "torch/types.h"
