// Arguments that several special functions share.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

// self - j / 2 for j = 0 .. p - 1, in a last dimension of its own.
Tensor mvlgamma_arguments(const Tensor& self, int64_t p);

}  // namespace taeda
