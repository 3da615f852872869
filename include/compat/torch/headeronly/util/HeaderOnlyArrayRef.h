// torch::headeronly's HeaderOnlyArrayRef.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
