// torch::nn: recurrent layers.
#pragma once

#include "taeda/nn/modules/rnn.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
