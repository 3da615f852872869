// torch::headeronly's MemoryFormat.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
