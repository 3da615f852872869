// torch::nn::functional: embeddings.
#pragma once

#include "taeda/nn/functional/embedding.h"
#include "torch/enum.h"
#include "torch/types.h"
