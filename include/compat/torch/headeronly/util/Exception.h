// torch::headeronly's Exception.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
