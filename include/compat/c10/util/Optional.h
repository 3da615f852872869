// PyTorch's header of this name: part of the core names.
#pragma once

#include "ATen/core_names.h"
