// Allocation of results, out= and in-place checks, memory overlap.
#include "taeda/ops/spec.h"

#include <algorithm>

#include "taeda/base/log.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/out_alias.h"
#include "taeda/ops/shape.h"

namespace taeda {

Tensor OutSpec::allocate() const {
  if (has_symbolic(sizes) || has_symbolic(strides)) {
    Tensor t = make_tensor({0}, dtype, device);
    t.impl()->set_sym_geometry(sizes, strides.empty() ? contiguous_strides(sizes) : strides, 0);
    return t;
  }
  if (strides.empty()) return make_tensor(as_int(sizes), dtype, device);
  return make_tensor_strided(as_int(sizes), as_int(strides), dtype, device);
}

namespace {

// The memory that `sizes` take without gaps, from the start of the storage on.
int64_t dense_bytes(IntList sizes, int64_t offset, DType dtype) {
  int64_t count = 1, bytes = 0;
  bool fits = true, is_empty = false;
  for (int64_t s : sizes) {
    is_empty |= s == 0;
    fits &= !__builtin_mul_overflow(count, s, &count);
  }
  if (is_empty) return 0;
  fits &= !__builtin_add_overflow(count, offset, &count) &&
          !__builtin_mul_overflow(count, item_size(dtype), &bytes);
  TAEDA_CHECK(fits, "Storage size calculation overflowed with sizes=", sizes);
  return bytes;
}

}  // namespace

void reserve_dense(const Tensor& t, IntList sizes) {
  const int64_t bytes = dense_bytes(sizes, t.storage_offset(), t.dtype());
  if (bytes > static_cast<int64_t>(t.storage()->nbytes()))
    t.storage()->resize(static_cast<size_t>(bytes));
}

void resize_to(Tensor& t, SymIntList sizes) {
  if (SymIntList(t.sym_sizes()) == sizes) return;
  if (has_symbolic(sizes) || t.impl()->has_symbolic_sizes()) {
    t.impl()->set_sym_geometry(sizes, contiguous_strides(sizes), t.impl()->sym_storage_offset());
    return;
  }
  const IntVec plain(as_int(sizes));
  const int64_t offset = t.storage_offset();
  reserve_dense(t, plain);  // first: where there is no such memory, the tensor stays as it is
  t.impl()->set_sizes_contiguous(plain);
  if (offset != 0) {
    const IntVec strides(t.strides());
    t.impl()->set_geometry(plain, strides, offset);
  }
}

void resize_output(Tensor& out, SymIntList sizes) {
  if (SymIntList(out.sym_sizes()) == sizes) return;
  if (out.sym_numel() != SymInt(0))
    warn(str("An output with one or more elements was resized since it had shape ", out.sym_sizes(),
             ", which does not match the required output shape ", sizes,
             ". This behavior is deprecated, and in a future PyTorch release outputs will not be "
             "resized unless they "
             "have zero elements. You can explicitly reuse an out tensor t by resizing it, "
             "inplace, to zero elements "
             "with t.resize_(0)."));
  resize_to(out, sizes);
}

void OutSpec::prepare_out(Tensor& out, const char* op) const {
  TAEDA_CHECK(out.device().type == device.type,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device, " and ", out.device(),
              "! (when checking argument for argument out in method ", op, ")");
  if (is_cast_allowed)
    TAEDA_CHECK_TYPE(can_cast(dtype, out.dtype()), "torch.", op,
                     "(): input types can't be cast to the desired output type ", out.dtype());
  else
    TAEDA_CHECK(out.dtype() == dtype, "Expected out tensor to have dtype ", cpp_name(dtype),
                ", but got ", cpp_name(out.dtype()), " instead");
  // Before too: a resize would hide that the given elements overlap.
  check_no_internal_overlap(out);
  resize_output(out, sizes);
  check_no_internal_overlap(out);
}

void OutSpec::check_inplace(const Tensor& self, const char* op, bool fills_repeats) const {
  TAEDA_CHECK(can_cast(dtype, self.dtype()), "result type ", dtype,
              " can't be cast to the desired output type ", self.dtype());
  // Sums of small integers are wide, but stay in self as they fit there.
  const bool is_wrapped = is_integral(dtype) && is_integral(self.dtype());
  TAEDA_CHECK(is_wrapped || dtype == self.dtype(), op, ": expected self to have dtype ",
              dtype_name(dtype), ", but got ", dtype_name(self.dtype()), " instead");
  TAEDA_CHECK(self.sym_sizes() == SymIntList(sizes), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", sizes);
  if (may_repeat) return;
  if (fills_repeats)
    warn_of_repeats(self, op);
  else
    check_no_internal_overlap(self);
}

// Strides that repeat an address without a zero among them are rare and allowed.
void check_no_internal_overlap(const Tensor& out) {
  TAEDA_CHECK(!repeats_elements(out),
              "unsupported operation: more than one element of the written-to tensor refers to a "
              "single memory location. Please clone() the tensor before performing the operation.");
}

namespace {

constexpr const char* kPartialOverlap =
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation.";

int64_t first_byte(const Tensor& t) { return t.storage_offset() * t.element_size(); }

// First and one-past-last byte of the storage that a tensor touches.
std::pair<int64_t, int64_t> extent(const Tensor& t) {
  int64_t low = first_byte(t), high = low + t.element_size();
  for (int64_t i = 0; i < t.dim(); ++i) {
    const int64_t reach = (t.sizes()[i] - 1) * t.strides()[i] * t.element_size();
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool is_same_layout(const Tensor& a, const Tensor& b) {
  return a.element_size() == b.element_size() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

}  // namespace

namespace {

// Whether parts of symbolic sizes lie apart, or are the same part. Those with gaps cannot be told
// apart, nor those of sizes that only data tells: a run finds out.
bool are_apart(const Tensor& a, const Tensor& b) {
  if (!a.is_contiguous() || !b.is_contiguous()) return true;
  const auto start = [](const Tensor& t) {
    return t.impl()->sym_storage_offset() * SymInt(t.element_size());
  };
  const auto end = [&](const Tensor& t) {
    return start(t) + t.sym_numel() * SymInt(t.element_size());
  };
  try {
    if (a.sym_numel() == SymInt(0) || b.sym_numel() == SymInt(0)) return true;
    if (end(a) <= start(b) || end(b) <= start(a)) return true;
    return a.element_size() == b.element_size() && start(a) == start(b) &&
           a.sym_sizes() == b.sym_sizes();
  } catch (const Error&) {  // a comparison has no answer
    return true;
  }
}

}  // namespace

void check_no_partial_overlap(const Tensor& out, const Tensor& input) {
  if (out.storage() != input.storage() || out.is_same(input)) return;
  if (out.impl()->has_symbolic_sizes() || input.impl()->has_symbolic_sizes()) {
    TAEDA_CHECK(are_apart(out, input), kPartialOverlap);
    return;
  }
  if (out.numel() == 0 || input.numel() == 0) return;
  if (first_byte(out) == first_byte(input) && is_same_layout(out, input)) return;
  // Interleaved views cannot be told apart cheaply.
  if (!out.impl()->is_non_overlapping_and_dense() || !input.impl()->is_non_overlapping_and_dense())
    return;
  const auto [a0, a1] = extent(out);
  const auto [b0, b1] = extent(input);
  TAEDA_CHECK(a1 <= b0 || b1 <= a0, kPartialOverlap);
}

void check_keeps_input(const OutSpec& spec, const Tensor& out, const Tensor& input) {
  if (!input.defined() || !out.is_same(input)) return;
  TAEDA_CHECK(out.sym_sizes() == SymIntList(spec.sizes), kPartialOverlap);
}

}  // namespace taeda
