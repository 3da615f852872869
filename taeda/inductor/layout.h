// How values lie in memory that a convolution reads or gives.
//
//   y = convolution(x, weight)      weight or x has its channels innermost, so y comes like that;
//   z = relu(y)                     y and z lie with channels innermost as well
//   convolution(z, ...)
//
// Note [Layouts]: a convolution gives its result with channels innermost where its filters lie so,
// whatever was traced: filters that are frozen are laid out for the library once (freeze.cpp). What
// it gives then stays as it comes, and a kernel writes what it reads in the same order, unless
// others know the value by strides: results of the plan, inputs, and values with views. Those are
// copied when they come, so that a wrong guess costs time alone. Where a library computes the
// convolutions and copies images into an order of its own unless their channels lie innermost, the
// images that kernels write for it lie so too, whatever the filters do.
#pragma once

#include "taeda/inductor/program.h"

namespace taeda::inductor {

// Changes strides of values that have no memory yet. `lays_out_images`: also where filters lie in
// order, so that sums may be rounded otherwise.
void choose_layouts(Program& program, bool lays_out_images);

}  // namespace taeda::inductor
