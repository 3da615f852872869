// Derivatives of selected elements are those of reductions.
#pragma once

#include "taeda/ops/reduction/gradients.h"
