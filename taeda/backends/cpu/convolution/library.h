// Convolutions that an installed oneDNN computes.
#pragma once

#include "taeda/backends/cpu/convolution/products.h"
#include "taeda/backends/cpu/gemm/onednn.h"

namespace taeda::cpu::convolution_kernels {

// Computes y, x or weight of `t` from the other two, with `bias` (forward only) where defined, and
// y with the post-ops of its work where oneDNN has a fast way for them (Note [Post-ops]). Does
// nothing where oneDNN is not known to be faster or cannot do it, without the library, and in a
// forked child. As in gemm/library.h, TAEDA_ONEDNN names a library or refuses it.
// Filters may lie in order where channels of the images are innermost.
Done library_convolution(onednn::Pass pass, const Tensors& t, const Tensor& bias);

// Whether it computes most convolutions of this dtype, and those of images with innermost channels
// without copies of them.
bool library_takes_channels_last(DType dtype);

}  // namespace taeda::cpu::convolution_kernels
