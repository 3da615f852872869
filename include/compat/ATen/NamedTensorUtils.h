// Named tensors do not exist here; the header does, for those who include it and use none.
#pragma once

#include "ATen/core_names.h"
