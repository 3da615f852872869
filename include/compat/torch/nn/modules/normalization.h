// torch::nn: normalizations.
#pragma once

#include "taeda/nn/modules/normalization.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
