// Checks of CUDA calls.
#pragma once

#include "c10/cuda/CUDAException.h"
