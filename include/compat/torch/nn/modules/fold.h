// torch::nn: patches of images.
#pragma once

#include "taeda/nn/modules/fold.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
