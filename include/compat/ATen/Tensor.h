// at::Tensor.
#pragma once

#include "ATen/core_names.h"
