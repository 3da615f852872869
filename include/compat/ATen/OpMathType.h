// at::opmath_type.
#pragma once

#include "ATen/AccumulateType.h"
