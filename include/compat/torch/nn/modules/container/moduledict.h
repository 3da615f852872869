// torch::nn: containers.
#pragma once

#include "taeda/nn/modules/container.h"
#include "torch/nn/pimpl.h"
