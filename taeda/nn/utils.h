// Tools around gradients, parameters and sequences.
#pragma once

#include "taeda/nn/utils/clip_grad.h"
#include "taeda/nn/utils/convert_parameters.h"
#include "taeda/nn/utils/rnn.h"
