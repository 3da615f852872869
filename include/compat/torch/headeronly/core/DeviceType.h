// torch::headeronly's DeviceType.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
