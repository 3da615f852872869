// torch::data.
#pragma once

#include "taeda/data/data.h"
#include "torch/types.h"
