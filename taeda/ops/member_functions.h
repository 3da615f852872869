// Members of Tensor that have no operator of their own, as functions.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda {

inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
inline bool is_complex(const Tensor& self) { return self.is_complex(); }
inline bool is_signed(const Tensor& self) { return self.is_signed(); }
inline bool is_nonzero(const Tensor& self) { return self.is_nonzero(); }
inline int64_t numel(const Tensor& self) { return self.numel(); }

}  // namespace taeda
