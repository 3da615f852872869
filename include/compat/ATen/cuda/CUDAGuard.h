// Scopes in which a CUDA device is the current one.
#pragma once

#include "c10/cuda/CUDAGuard.h"
