// torch::headeronly's complex.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
