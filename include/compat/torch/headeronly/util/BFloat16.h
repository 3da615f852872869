// torch::headeronly's BFloat16.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
