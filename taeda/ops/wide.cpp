// Types of decompositions.
#include "taeda/ops/wide.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda {

Wide::Wide(std::initializer_list<const Tensor*> inputs, Rule rule)
    : result_(result_type(Span<const Tensor*>(inputs.begin(), inputs.size()))) {
  if (rule == Rule::Float && is_integral(result_, true)) result_ = default_dtype();
  compute_ = is_reduced_float(result_) ? DType::Float : result_;
}

Tensor Wide::operator()(const Tensor& t) const {
  return t.dtype() == compute_ || t.impl()->is_wrapped_number() ? t : t.to(compute_);
}

Tensor Wide::rounded(const Tensor& t, DType to) const { return t.dtype() == to ? t : t.to(to); }

}  // namespace taeda
