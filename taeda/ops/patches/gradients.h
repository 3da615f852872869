// Derivative formulas of patches name the sizes of images.
#pragma once

#include "taeda/ops/pooling/windows.h"
