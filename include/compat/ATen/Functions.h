// Operators as functions of at: those of taeda, which at sees.
#pragma once

#include "ATen/core_names.h"

namespace at {
using ::taeda::complex;  // c10 has a type of that name
}
