// Dtypes, and lists of them.
#pragma once

#include "torch/headeronly/core/ScalarType.h"
