// torch::nn: padding.
#pragma once

#include "taeda/nn/modules/padding.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
