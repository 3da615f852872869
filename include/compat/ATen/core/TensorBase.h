// at::Tensor, which is its own base.
#pragma once

#include "ATen/core_names.h"
