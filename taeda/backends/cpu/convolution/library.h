// Convolutions that an installed oneDNN computes.
#pragma once

#include "taeda/backends/cpu/convolution/products.h"
#include "taeda/backends/cpu/gemm/onednn.h"

namespace taeda::cpu::convolution_kernels {

// Computes y, x or weight of `t` from the other two, with `bias` (forward only) where defined, and
// y with the post-ops of its work where oneDNN has a fast way for them (Note [Post-ops]). Does
// nothing where oneDNN is not known to be faster or cannot do it, without the library, and in a
// forked child. As in gemm/library.h, TAEDA_ONEDNN names a library or refuses it.
Done library_convolution(onednn::Pass pass, const Tensors& t, const Tensor& bias);

}  // namespace taeda::cpu::convolution_kernels
