// Tensors on C++ streams.
#pragma once

#include "taeda/ops/print.h"
