// torch::nn: the transformer.
#pragma once

#include "taeda/nn/modules/transformer.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
