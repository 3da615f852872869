// Tensors in the layout that a plan was made for.
#pragma once

#include "taeda/inductor/run_layout.h"

namespace taeda::inductor {

// What memory holds in place of the elements.
inline constexpr KeySet kLazyValues = KeySet(Key::Conjugate) | KeySet(Key::Negative);

bool has_strides(const Tensor& t, const TensorShape& shape);

// Whether no two elements share memory.
bool do_elements_lie_apart(const TensorShape& shape);

// The tensor with these strides: itself, or a copy.
Tensor laid_out(Tensor t, const TensorShape& shape);

// The same elements, which memory holds as these flags say.
Tensor with_flags(const Tensor& t, KeySet flags);

}  // namespace taeda::inductor
