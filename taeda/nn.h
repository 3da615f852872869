// Layers and models in C++, with what they compute on: <taeda/taeda.h> and the namespace nn.
#pragma once

#include "taeda/nn/nn.h"
#include "taeda/taeda.h"
