// The names that bodies use, in their namespace.
#pragma once

#include "taeda/kernel/body.h"

namespace taeda::bodies {

using kernel::MaskOf;
using kernel::RealOf;
using kernel::Uniform;

}  // namespace taeda::bodies
