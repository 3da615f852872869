// torch::nn: channels for places.
#pragma once

#include "taeda/nn/modules/fold.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
