// Fitting gradients whose shape, dtype or device differs from the forward value's.
#include "taeda/autograd/validate.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/gradients.h"

namespace taeda::autograd {
namespace {

std::string blame(const char* name) {
  return name ? str("Function ", name, " returned an ") : std::string();
}

// Sizes of which only data tells whether they are equal have to be.
bool are_equal(const SymInt& a, const SymInt& b) {
  if (!a.is_symbolic() && !b.is_symbolic()) return a == b;
  const std::optional<bool> is_known = known(SymOp::Eq, a, b);
  return is_known ? *is_known : expect(SymOp::Eq, a, b);
}

}  // namespace

void fit_gradient(const InputMetadata& expected, Tensor& grad, const char* name, size_t index) {
  if (!expected.is_defined()) {
    grad.reset();  // belongs to an output without gradient
    return;
  }
  const SymIntList sizes(expected.sizes);
  const SymIntList own = grad.sym_sizes();
  if (!std::equal(own.begin(), own.end(), sizes.begin(), sizes.end(), are_equal)) {
    TAEDA_CHECK(gradients::can_sum_to(grad.sym_sizes(), sizes), blame(name),
                "invalid gradient at index ", index, " - got ", grad.sym_sizes(),
                " but expected shape compatible with ", sizes);
    grad = gradients::sum_to(grad, sizes);
  }
  if (!expected.takes_any_dtype) grad = gradients::cast_gradient(grad, expected.dtype);
  if (grad.device() != expected.device) {
    TAEDA_CHECK(grad.dim() == 0, blame(name), "invalid gradient at index ", index,
                " - expected device ", expected.device, " but got ", grad.device());
    grad = grad.to(expected.device, grad.dtype());
  }
}

}  // namespace taeda::autograd
