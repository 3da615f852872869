// torch::nn::functional: channels for places.
#pragma once

#include "taeda/nn/functional/fold.h"
#include "torch/enum.h"
#include "torch/types.h"
