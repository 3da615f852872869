// Reads the arguments of windows.
#include "taeda/ops/pooling/windows.h"

#include <climits>

namespace taeda {
namespace {

const char* several_ints(int64_t n) {
  return n == 1 ? "one int" : n == 2 ? "two ints" : "three ints";
}

// One number per dimension.
IntVec spread(const char* op, const char* name, const char* phrase, IntList given, int64_t n) {
  const int64_t size = static_cast<int64_t>(given.size());
  TAEDA_CHECK(size == 1 || size == n, op, ": ", name, " must ", phrase,
              " a single int, or a tuple of ", several_ints(n), ": got ", size);
  IntVec out(given);
  for (const int64_t value : out)
    TAEDA_CHECK(value >= INT_MIN && value <= INT_MAX,
                "value cannot be converted to type int without overflow: ", op, " got ", value,
                " for ", name);
  while (static_cast<int64_t>(out.size()) < n) out.push_back(given[0]);
  return out;
}

}  // namespace

PoolWindow pool_window(const char* op, int64_t spatial, IntList kernel, IntList stride,
                       IntList padding, IntList dilation) {
  PoolWindow w;
  w.kernel = spread(op, "kernel_size", "either be", kernel, spatial);
  w.stride =
      stride.empty() ? w.kernel : spread(op, "stride", "either be omitted,", stride, spatial);
  w.padding = spread(op, "padding", "either be", padding, spatial);
  w.dilation = spread(op, "dilation", "be either", dilation, spatial);
  return w;
}

SymInt pooled_size(const SymInt& size, const PoolWindow& window, int64_t d, bool ceil_mode) {
  const int64_t kernel = window.kernel[d], stride = window.stride[d], pad = window.padding[d],
                dilation = window.dilation[d];
  TAEDA_CHECK(stride != 0, "stride should not be zero");
  TAEDA_CHECK(pad >= 0, "pad must be non-negative, but got pad: ", pad);
  TAEDA_CHECK(pad <= ((kernel - 1) * dilation + 1) / 2,
              "pad should be at most half of effective kernel size, but got pad=", pad,
              ", kernel_size=", kernel, " and dilation=", dilation);
  const SymInt room = size + SymInt(2 * pad - dilation * (kernel - 1) - 1);
  if (!ceil_mode) return room / SymInt(stride) + SymInt(1);
  const SymInt count = (room + SymInt(stride - 1)) / SymInt(stride) + SymInt(1);
  const bool starts_outside = (count - SymInt(1)) * SymInt(stride) >= size + SymInt(pad);
  return starts_outside ? count - SymInt(1) : count;
}

SymIntVec last_sizes(const Tensor& t, int64_t spatial) {
  SymIntVec out;
  for (int64_t d = t.dim() - spatial; d < t.dim(); ++d) out.push_back(t.sym_size(d));
  return out;
}

}  // namespace taeda
