// Shape and dtype inference of pointwise operators.
#include "taeda/ops/pointwise.h"

#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/number_range.h"

#include <algorithm>
#include <vector>

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
    // PyTorch names the CPU: numbers lie there.
    const bool is_number = t->impl()->is_wrapped_number() && t->is_cpu();
    if (is_number && t->storage() && t->storage()->data()) check_fits(read_scalar(*t), common);
  }
}

void check_accepted(const PointwiseOp& op, DType common, Device device) {
  const bool is_accepted =
      (op.accept & class_of(common)) && (!is_float8(common) || op.rule == DTypeRule::MaskFirst);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_accepted, "\"", kernel_name(op.name, device),
                              "\" not implemented for '", common, "'");
}

}  // namespace

PointwiseSpec::PointwiseSpec(const PointwiseOp& op, Span<const Tensor*> inputs) : op_(op) {
  if (infer_uniform(inputs)) return;
  for (size_t i = 0; i < inputs.size(); ++i)
    TAEDA_CHECK(
        inputs[i]->defined(),
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
        "#",
        i, " of ", op.name, "()");
  const bool has_mask = op.rule == DTypeRule::MaskFirst;
  infer_dtypes(has_mask ? inputs.drop_front() : inputs);
  infer_shape(inputs);
  // Last: PyTorch's kernels refuse a dtype after shapes were compared.
  check_accepted(op, common_, device_);
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

// Whether the inputs differ in layout, so that the result cannot take over the strides of one of
// them. Inputs without dimensions fit any layout. Contiguous ones that are broadcast give a
// contiguous result, unless they have strides of their own; for symbolic sizes only that is worked
// out.
bool has_mixed_layouts(Span<const Tensor*> inputs, SymIntList sizes) {
  const Tensor* full = nullptr;
  bool is_symbolic = false, is_broadcast = false, is_contiguous = true, differs = false;
  for (const Tensor* t : inputs) {
    is_symbolic |= t->impl()->has_symbolic_sizes();
    if (t->dim() == 0) continue;
    if (!full) full = t;
    is_broadcast |= t->sym_sizes() != sizes;
    is_contiguous &= t->is_contiguous();
    differs |= t != full && !is_contiguous && t->sym_strides() != full->sym_strides();
  }
  if (is_broadcast)
    return !is_symbolic || !is_contiguous ||
           std::any_of(inputs.begin(), inputs.end(),
                       [](const Tensor* t) { return has_own_strides(*t); });
  if (!full || is_contiguous) return false;
  return differs || !full->impl()->is_non_overlapping_and_dense();
}

}  // namespace

void PointwiseSpec::infer_shape(Span<const Tensor*> inputs) {
  const Tensor& first = *inputs[0];
  device_ = first.device();
  // PyTorch names the CPU: zero-dimensional operands there join tensors anywhere.
  const auto is_host_scalar = [](const Tensor& t) { return t.dim() == 0 && t.is_cpu(); };
  bool is_simple = first.is_contiguous() && !first.impl()->has_symbolic_sizes();
  for (size_t i = 1; i < inputs.size() && is_simple; ++i) {
    const Tensor& t = *inputs[i];
    is_simple = t.is_contiguous() && t.device() == device_ && !t.impl()->has_symbolic_sizes() &&
                (t.sizes() == first.sizes() || is_host_scalar(t));
  }
  if (is_simple) {
    like_ = &first;
    return;
  }
  check_same_device(op_.name, inputs);
  for (const Tensor* t : inputs)
    if (!is_host_scalar(*t)) {
      device_ = t->device();
      break;
    }
  auto& [sizes, strides] = shape_.emplace();
  sizes = SymIntVec(first.sym_sizes());
  for (size_t i = 1; i < inputs.size(); ++i)
    sizes = broadcast_shapes(sizes, inputs[i]->sym_sizes());
  if (op_.rule == DTypeRule::Self) return;  // filled copies are contiguous, as in PyTorch
  if (has_mixed_layouts(inputs, sizes)) {
    std::vector<const Tensor*> order(inputs.begin(), inputs.end());
    if (op_.accept & kLayoutOfLast) std::reverse(order.begin(), order.end());
    strides = strides_in_order(order, sizes);
    return;
  }
  // Keeps the one layout.
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
  if (op.accept & kFillsRepeats)
    warn_of_repeats(self, str(op.name, "_"));
  else
    check_no_internal_overlap(self);
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
  // Numbers alone have no device.
  const bool has_tensors = std::any_of(inputs.begin(), inputs.end(), [](const Tensor* t) {
    return !t->impl()->is_wrapped_number();
  });
  const Device device = out.is_meta() && !has_tensors ? out.device() : device_;
  TAEDA_CHECK(out.is_meta() == device.is_meta(), "Attempting to copy from device ", device,
              " to device ", out.device(), ", but cross-device copies are not allowed!");
  TAEDA_CHECK(out.device() == device,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device, " and ", out.device(),
              "! (when checking argument for argument out in method ", op_.name, ")");
  for (const Tensor* t : inputs)
    TAEDA_CHECK(!out.is_same(*t) || out.sym_sizes() == sizes(), "output with shape ",
                out.sym_sizes(), " doesn't match the broadcast shape ", sizes());
  resize_output(out, sizes());
  check_no_internal_overlap(out);
  for (const Tensor* t : inputs) check_no_partial_overlap(out, *t);
}

}  // namespace taeda
