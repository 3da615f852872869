// torch::headeronly's Layout.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
