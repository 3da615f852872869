// c10::SmallVector.
#pragma once

#include "ATen/core_names.h"
