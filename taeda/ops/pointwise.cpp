// Shape and dtype inference of pointwise operators.
#include "taeda/ops/pointwise.h"

#include "taeda/ops/index_checks.h"
#include "taeda/ops/number_range.h"

namespace taeda {
// The common case in one pass: plain tensors of one dtype, shape and device under a rule that keeps
// the dtype. False: nothing was decided.
inline bool PointwiseSpec::infer_uniform(Span<const Tensor*> inputs) {
  const TensorImpl* first = inputs[0]->impl();
  if (!first || !first->is_plain() || !keeps_dtype(op_, first->dtype())) return false;
  for (const Tensor* t : inputs.drop_front())
    if (!t->defined() || !t->impl()->is_plain_like(*first)) return false;
  common_ = result_ = first->dtype();
  device_ = first->device();
  like_ = inputs[0];
  is_uniform_ = true;
  return true;
}

namespace {

// A number to be selected must be one of the result's dtype; halves round it.
void check_selected_numbers(Span<const Tensor*> inputs, DType common) {
  if (is_floating(common) && item_size(common) < 4) return;
  for (const Tensor* t : inputs) {
    const bool is_number = t->impl()->is_wrapped_number() && t->is_cpu();
    if (is_number && t->storage() && t->storage()->data()) check_fits(read_scalar(*t), common);
  }
}

void check_accepted(const PointwiseOp& op, DType common) {
  const bool is_accepted =
      (op.accept & class_of(common)) && (!is_float8(common) || op.rule == DTypeRule::MaskFirst);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_accepted, "\"", op.name, "_cpu\" not implemented for '", common,
                              "'");
}

}  // namespace

PointwiseSpec::PointwiseSpec(const PointwiseOp& op, Span<const Tensor*> inputs) : op_(op) {
  if (infer_uniform(inputs)) return;
  for (const Tensor* t : inputs)
    TAEDA_CHECK_TYPE(t->defined(), op.name, "(): expected a Tensor, got None");
  const bool has_mask = op.rule == DTypeRule::MaskFirst;
  infer_dtypes(has_mask ? inputs.drop_front() : inputs);
  infer_shape(inputs);
  // Last: PyTorch's kernels refuse a dtype after shapes were compared.
  check_accepted(op, common_);
  if (has_mask) check_selected_numbers(inputs.drop_front(), common_);
  if (has_mask)
    TAEDA_CHECK(inputs[0]->dtype() == DType::Bool || inputs[0]->dtype() == DType::UInt8, op.name,
                " expected condition to be a boolean tensor, but got a tensor with dtype ",
                inputs[0]->dtype());
}

DType PointwiseSpec::common_dtype(Span<const Tensor*> inputs) const {
  const DType first = inputs[0]->dtype();
  if (op_.rule == DTypeRule::Self) return first;
  // Numbers yield to a tensor of their class or a higher one.
  bool is_uniform = !inputs[0]->impl()->is_wrapped_number();
  for (size_t i = 1; i < inputs.size(); ++i) {
    const DType dtype = inputs[i]->dtype();
    is_uniform &= inputs[i]->impl()->is_wrapped_number() ? class_of(dtype) <= class_of(first)
                                                         : dtype == first;
  }
  return is_uniform ? first : result_type(inputs);
}

void PointwiseSpec::infer_dtypes(Span<const Tensor*> inputs) {
  common_ = common_dtype(inputs);
  if (op_.rule == DTypeRule::Float && is_integral(common_, true)) common_ = default_dtype();
  switch (op_.rule) {
    case DTypeRule::Compare:
    case DTypeRule::Bool: result_ = DType::Bool; break;
    case DTypeRule::Real: result_ = to_real(common_); break;
    default: result_ = common_;
  }
}

namespace {

// Whether inputs of known sizes differ in shape; scalars fit any.
bool has_broadcast(Span<const Tensor*> inputs, SymIntList sizes) {
  bool differs = false;
  for (const Tensor* t : inputs) {
    if (t->impl()->has_symbolic_sizes()) return false;
    differs |= t->dim() != 0 && t->sym_sizes() != sizes;
  }
  return differs;
}

// The stride of an input along a dimension of the result: 0 where it is repeated.
int64_t stride_along(const Tensor& t, int64_t d, IntList sizes) {
  const int64_t own = d - (static_cast<int64_t>(sizes.size()) - t.dim());
  if (own < 0 || (t.size(own) == 1 && sizes[d] != 1)) return 0;
  return t.strides()[own];
}

// Whether dimension `a` lies outside `b` in memory (1), inside (-1), or no input can say (0). The
// first input that repeats neither decides.
int compare_dims(Span<const Tensor*> inputs, IntList sizes, int64_t a, int64_t b) {
  for (const Tensor* t : inputs) {
    const int64_t sa = stride_along(*t, a, sizes), sb = stride_along(*t, b, sizes);
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

// Strides of a dense result whose dimensions follow each other as the inputs' do.
SymIntVec strides_by_order(Span<const Tensor*> inputs, IntList sizes) {
  const auto n = static_cast<int64_t>(sizes.size());
  SmallVector<int64_t, 6> order;  // innermost first
  for (int64_t d = n - 1; d >= 0; --d) order.push_back(d);
  for (int64_t i = 1; i < n; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int compared = compare_dims(inputs, sizes, order[j], order[at]);
      if (compared < 0) break;
      if (compared == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  SymIntVec strides(sizes.size());
  int64_t running = 1;
  for (int64_t d : order) {
    strides[d] = running;
    running *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

}  // namespace

void PointwiseSpec::infer_shape(Span<const Tensor*> inputs) {
  const Tensor& first = *inputs[0];
  device_ = first.device();
  bool is_simple = first.is_contiguous() && !first.impl()->has_symbolic_sizes();
  for (size_t i = 1; i < inputs.size() && is_simple; ++i) {
    const Tensor& t = *inputs[i];
    is_simple = t.is_contiguous() && t.device() == device_ && !t.impl()->has_symbolic_sizes() &&
                (t.sizes() == first.sizes() || (t.dim() == 0 && t.is_cpu()));
  }
  if (is_simple) {
    like_ = &first;
    return;
  }
  check_same_device(op_.name, inputs);
  for (const Tensor* t : inputs)
    if (!(t->is_cpu() && t->dim() == 0)) {
      device_ = t->device();
      break;
    }
  auto& [sizes, strides] = shape_.emplace();
  sizes = SymIntVec(first.sym_sizes());
  for (size_t i = 1; i < inputs.size(); ++i)
    sizes = broadcast_shapes(sizes, inputs[i]->sym_sizes());
  if (op_.rule == DTypeRule::Self) return;  // filled copies are contiguous, as in PyTorch
  if (has_broadcast(inputs, sizes)) {
    strides = strides_by_order(inputs, as_int(sizes));
    return;
  }
  // Keeps the layout of the first input that has the full shape and is not plainly contiguous.
  for (const Tensor* t : inputs) {
    if (t->sym_sizes() != SymIntList(sizes)) continue;
    if (t->is_contiguous()) break;
    strides = strides_like(*t, MemoryFormat::Preserve);
    break;
  }
}

Tensor PointwiseSpec::allocate() const {
  if (like_) return make_tensor(like_->sizes(), result_, device_);
  OutSpec spec(SymIntList(shape_->sizes), result_, device_);
  spec.strides = shape_->strides;
  return spec.allocate();
}

void PointwiseSpec::check_written(const PointwiseOp& op, const Tensor& self,
                                  Span<const Tensor*> inputs) {
  if (!is_repeated_fill(self, op.name)) check_no_internal_overlap(self);
  for (const Tensor* t : inputs) check_no_overlap(self, *t);
}

void PointwiseSpec::check_inplace(const Tensor& self) const {
  TAEDA_CHECK(self.sym_sizes() == sizes(), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", sizes());
  TAEDA_CHECK(can_cast(result_, self.dtype()), "result type ", result_,
              " can't be cast to the desired output type ", self.dtype());
}

namespace {

// Operators of one tensor that keep its dtype, and limits given as numbers, convert nothing.
bool keeps_one_dtype(DTypeRule rule, Span<const Tensor*> inputs) {
  if (inputs.size() == 1) return rule == DTypeRule::Promote || rule == DTypeRule::Real;
  return inputs.size() == 3 && rule == DTypeRule::Promote &&
         inputs[1]->impl()->is_wrapped_number() && inputs[2]->impl()->is_wrapped_number();
}

void check_out_dtype(const PointwiseOp& op, DType common, DType result, const Tensor& out,
                     Span<const Tensor*> inputs) {
  if (out.dtype() == result) return;
  TAEDA_CHECK(op.rule != DTypeRule::MaskFirst, "Expected out type to be ", result, " but got ",
              out.dtype());
  TAEDA_CHECK(common != result || !keeps_one_dtype(op.rule, inputs), "Found dtype ", out.dtype(),
              " but expected ", result);
  TAEDA_CHECK(can_cast(result, out.dtype()), "result type ", result,
              " can't be cast to the desired output type ", out.dtype());
}

}  // namespace

void PointwiseSpec::prepare_out(Tensor& out, Span<const Tensor*> inputs) const {
  check_no_internal_overlap(out);
  check_out_dtype(op_, common_, result_, out, inputs);
  TAEDA_CHECK(out.is_meta() == device_.is_meta(), "Attempting to copy from device ", device_,
              " to device ", out.device(), ", but cross-device copies are not allowed!");
  TAEDA_CHECK(out.device() == device_,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device_, " and ", out.device(),
              "! (when checking argument for argument out in method ", op_.name, ")");
  for (const Tensor* t : inputs)
    TAEDA_CHECK(!out.is_same(*t) || out.sym_sizes() == sizes(), "output with shape ",
                out.sym_sizes(), " doesn't match the broadcast shape ", sizes());
  resize_output(out, sizes());
  check_no_internal_overlap(out);
  for (const Tensor* t : inputs) check_no_partial_overlap(out, *t);
}

}  // namespace taeda
