// torch::headeronly's Half.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
