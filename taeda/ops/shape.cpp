// Broadcasting, size inference, strides and type promotion over tensors.
#include "taeda/ops/shape.h"

#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/size_limits.h"
#include "taeda/ops/stride_order.h"

namespace taeda {

SymIntVec broadcast_shapes(SymIntList a, SymIntList b) {
  if (a.size() < b.size()) {
    // The message names tensor a first whatever the lengths are.
    SymIntVec padded(b.size() - a.size(), SymInt(1));
    for (const SymInt& s : a) padded.push_back(s);
    return broadcast_shapes(padded, b);
  }
  SymIntVec out(a);
  const size_t shift = a.size() - b.size();
  // From the right, so that the error names the innermost mismatch.
  for (size_t i = b.size(); i-- > 0;) {
    SymInt& o = out[i + shift];
    if (is_known(SymOp::Eq, o, b[i]) || is_known(SymOp::Eq, b[i], 1)) continue;
    if (!is_known(SymOp::Eq, o, 1))
      TAEDA_CHECK(expect(SymOp::Eq, o, b[i]), "The size of tensor a (", o,
                  ") must match the size of tensor b (", b[i], ") at non-singleton dimension ",
                  i + shift);
    o = b[i];
  }
  return out;
}

bool is_expandable_to(SymIntList from, SymIntList to) {
  if (from.size() > to.size()) return false;
  const size_t shift = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i + shift] && from[i] != SymInt(1)) return false;
  return true;
}

SymIntVec infer_size(SymIntList shape, const SymInt& numel) {
  SymIntVec out(shape);
  SymInt known = 1;
  int unknown = -1;
  bool is_within_limits = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == SymInt(-1)) {
      TAEDA_CHECK(unknown < 0, "only one dimension can be inferred");
      unknown = static_cast<int>(i);
    } else {
      TAEDA_CHECK(shape[i] >= SymInt(0), "invalid shape dimension ", shape[i], " at index ", i,
                  " of shape ", shape);
      is_within_limits = is_within_limits && multiply_within_limits(known, shape[i]);
    }
  }
  if (is_within_limits && unknown >= 0) {
    const bool is_none = is_known(SymOp::Eq, known, 0);
    TAEDA_CHECK(!is_none || numel != SymInt(0), "cannot reshape tensor of 0 elements into shape ",
                shape,
                " because the unspecified dimension size -1 can be any value and is ambiguous");
    TAEDA_CHECK(!is_none, "shape '", shape, "' is invalid for input of size ", numel);
    out[unknown] = numel / known;
    known *= out[unknown];
  }
  TAEDA_CHECK(is_within_limits && expect(SymOp::Eq, known, numel), "shape '", shape,
              "' is invalid for input of size ", numel);
  return out;
}

SymIntVec contiguous_strides(SymIntList sizes) {
  SymIntVec out(sizes.size());
  SymInt running = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    out[i] = running;
    running = running * sym_max(sizes[i], 1);
  }
  return out;
}

SymIntVec channels_last_strides(SymIntList sizes) {
  SymIntVec out(sizes.size());
  SymInt running = 1;
  auto place = [&](size_t d) {
    out[d] = running;
    running = running * sym_max(sizes[d], 1);
  };
  place(1);
  for (size_t d = sizes.size(); d-- > 2;) place(d);
  place(0);
  return out;
}

namespace {

// The stride of an input along a dimension of the result: 0 where it is repeated.
SymInt stride_along(const Tensor& t, int64_t d, SymIntList sizes) {
  const int64_t own = d - (static_cast<int64_t>(sizes.size()) - t.dim());
  if (own < 0) return 0;
  if (is_known(SymOp::Eq, t.sym_sizes()[own], 1) && is_known(SymOp::Ne, sizes[d], 1)) return 0;
  return t.sym_strides()[own];
}

// Whether dimension `a` lies outside `b` in memory (1), inside (-1), or no input can say (0). The
// first input that repeats neither decides; `stride(i, d)` is that of input i.
template <class F>
int compare_dims(size_t inputs, F&& stride, SymIntList sizes, int64_t a, int64_t b) {
  for (size_t i = 0; i < inputs; ++i) {
    const SymInt sa = stride(i, a), sb = stride(i, b);
    if (is_known(SymOp::Eq, sa, 0) || is_known(SymOp::Eq, sb, 0)) continue;
    if (is_known(SymOp::Lt, sa, sb)) return -1;
    if (is_known(SymOp::Gt, sa, sb)) return 1;
    if (is_known(SymOp::Gt, sizes[a], sizes[b])) return 1;
  }
  return 0;
}

template <class F>
SymIntVec ordered_strides(size_t inputs, F&& stride, SymIntList sizes) {
  const auto n = static_cast<int64_t>(sizes.size());
  SmallVector<int64_t, 6> order;  // innermost first
  for (int64_t d = n - 1; d >= 0; --d) order.push_back(d);
  for (int64_t i = 1; i < n; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int compared = compare_dims(inputs, stride, sizes, order[j], order[at]);
      if (compared < 0) break;
      if (compared == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  SymIntVec strides(sizes.size());
  SymInt running = 1;
  for (int64_t d : order) {
    strides[d] = running;
    running *= sym_max(sizes[d], 1);
  }
  return strides;
}

}  // namespace

SymIntVec strides_in_order(Span<const Tensor*> inputs, SymIntList sizes) {
  const auto stride = [&](size_t i, int64_t d) { return stride_along(*inputs[i], d, sizes); };
  return ordered_strides(inputs.size(), stride, sizes);
}
SymIntVec strides_in_order(Span<SymIntVec> inputs, SymIntList sizes) {
  const auto stride = [&](size_t i, int64_t d) { return inputs[i][d]; };
  return ordered_strides(inputs.size(), stride, sizes);
}

SymIntVec strides_like(const Tensor& self, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::ChannelsLast:
      TAEDA_CHECK(self.dim() == 4, "required rank 4 tensor to use channels_last format");
      return channels_last_strides(self.sym_sizes());
    case MemoryFormat::ChannelsLast3d:
      TAEDA_CHECK(self.dim() == 5, "required rank 5 tensor to use channels_last_3d format");
      return channels_last_strides(self.sym_sizes());
    case MemoryFormat::Contiguous: return contiguous_strides(self.sym_sizes());
    default: break;
  }
  // Not recomputed where the tensor is contiguous: dimensions of size one, and all of a tensor
  // without elements, have the strides they were given.
  if (self.impl()->is_non_overlapping_and_dense()) return SymIntVec(self.sym_strides());
  const Tensor* const inputs[] = {&self};
  return strides_in_order(inputs, self.sym_sizes());
}

bool has_own_strides(const Tensor& t) {
  const bool is_symbolic = t.impl()->has_symbolic_sizes();
  SymInt expected = 1;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    const SymInt& size = t.sym_sizes()[d];
    const bool is_free = !is_symbolic || (!size.is_symbolic() && size == SymInt(1));
    if (is_free && is_known(SymOp::Ne, t.sym_strides()[d], expected)) return true;
    expected *= is_symbolic ? size : sym_max(size, 1);
  }
  return false;
}

uint64_t dim_bitset(IntList dims, int64_t ndim, bool all_when_empty) {
  if (dims.empty() && all_when_empty) return ndim == 0 ? 0 : ~0ULL >> (64 - ndim);
  uint64_t bits = 0;
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, ndim);
    TAEDA_CHECK(!(bits >> w & 1), "dim ", w, " appears multiple times in the list of dims");
    bits |= 1ULL << w;
  }
  return ndim == 0 ? 0 : bits;
}

SymIntVec reduced_sizes(const Tensor& self, uint64_t bits, bool keepdim) {
  SymIntVec out;
  const SymIntList sizes = self.sym_sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(bits >> i & 1))
      out.push_back(sizes[i]);
    else if (keepdim)
      out.push_back(SymInt(1));
  }
  return out;
}

namespace {

[[noreturn]] void refuse_device(const char* op, Device expected, Device given) {
  if (expected.is_meta() != given.is_meta())
    fail(ErrorKind::Runtime, "Tensor on device ", given, " is not on the expected device ",
         expected, "! (in ", op, ")");
  fail(ErrorKind::Runtime,
       "Expected all tensors to be on the same device, but found at least two devices, ", expected,
       " and ", given, "! (in ", op, ")");
}

}  // namespace

const Tensor* check_same_device(const char* op, Span<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* t : tensors) {
    // PyTorch names the CPU: zero-dimensional tensors there go with any device.
    if (!t->defined() || (t->is_cpu() && t->dim() == 0)) continue;
    if (!first)
      first = t;
    else if (first->device() != t->device())
      refuse_device(op, first->device(), t->device());
  }
  return first;
}

void check_result_device(const char* op, const Tensor* placed, Device result) {
  if (placed && placed->device() != result) refuse_device(op, result, placed->device());
}

namespace {

DType promote_skip(DType a, DType b) {
  if (a == DType::Undefined) return b;
  if (b == DType::Undefined) return a;
  return promote_types(a, b);
}

// Lower category yields to the higher one only when that is of a higher kind.
DType combine(DType higher, DType lower) {
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? to_complex(higher) : higher;
  if (higher == DType::Bool || is_floating(lower) || is_complex(lower))
    return promote_skip(higher, lower);
  return higher == DType::Undefined ? lower : higher;
}

}  // namespace

DType result_type(Span<const Tensor*> tensors) {
  DType dimensioned = DType::Undefined, zero_dim = DType::Undefined, number = DType::Undefined;
  for (const Tensor* t : tensors) {
    if (!t->defined()) continue;
    DType d = t->dtype();
    if (t->impl()->is_wrapped_number()) {
      if (is_complex(d))
        d = default_complex_dtype();
      else if (is_floating(d))
        d = default_dtype();
      number = promote_skip(number, d);
    } else if (t->dim() == 0) {
      zero_dim = promote_skip(zero_dim, d);
    } else {
      dimensioned = promote_skip(dimensioned, d);
    }
  }
  return combine(dimensioned, combine(zero_dim, number));
}

DType result_type(TensorList tensors) {
  SmallVector<const Tensor*, 8> pointers;
  for (const Tensor& t : tensors) pointers.push_back(&t);
  return result_type(Span<const Tensor*>(pointers.data(), pointers.size()));
}

}  // namespace taeda
