// STABLE_TORCH_LIBRARY and its relatives: registration of operators and kernels.
#pragma once

#include "torch/csrc/stable/tensor.h"
#include "torch/library.h"

#define STABLE_TORCH_LIBRARY(ns, m) TORCH_LIBRARY(ns, m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY_FRAGMENT(ns, m)
#define STABLE_TORCH_LIBRARY_IMPL(ns, key, m) TORCH_LIBRARY_IMPL(ns, key, m)
