// Derivative helpers of copies in another order.
#include "taeda/ops/rearrange/gradients.h"

#include "taeda/ops/functions.h"

namespace taeda::gradients {

Tensor repeat_backward(const Tensor& grad, SymIntList self_sizes, SymIntList repeats) {
  for (const SymInt& r : repeats)
    if (r == SymInt(0)) return taeda::zeros(self_sizes, grad.dtype(), {}, grad.device());
  const size_t lead = repeats.size() - self_sizes.size();
  SymIntVec shape;
  IntVec summed;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (i < lead || repeats[i] != SymInt(1)) {
      summed.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(repeats[i]);
    }
    if (i >= lead) shape.push_back(self_sizes[i - lead]);
  }
  if (summed.empty()) return grad;
  return grad.reshape(shape).sum(IntList(summed));
}

Tensor roll_backward(const Tensor& grad, SymIntList shifts, IntList dims) {
  SymIntVec back;
  for (const SymInt& s : shifts) back.push_back(-s);
  return grad.roll(back, dims);
}

}  // namespace taeda::gradients
