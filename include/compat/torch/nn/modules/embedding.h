// torch::nn: embeddings.
#pragma once

#include "taeda/nn/modules/embedding.h"
#include "torch/enum.h"
#include "torch/nn/pimpl.h"
