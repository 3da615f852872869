// Generators of the CPU by PyTorch's names.
#pragma once

#include "ATen/core_names.h"
