// Pooling operators made of others: one dimension as two, and norms as means.
#include <cmath>
#include <limits>

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/made_apart.h"
#include "taeda/ops/pooling/checks.h"
#include "taeda/ops/pooling/declarations.h"
#include "taeda/ops/pooling/functions.h"
#include "taeda/ops/pooling/windows.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {
namespace {

void check_pooled_line(const char* op, const Tensor& self) {
  TAEDA_CHECK(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ",
              self.dim(),
              "-dimensional tensor for argument #1 'self' (while checking arguments "
              "for ",
              op, ")");
}

// The argument of one dimension as one of two, the first of which has `other`.
std::array<int64_t, 2> line_pair(const char* op, const char* name, IntList given, int64_t other) {
  TAEDA_CHECK(given.size() == 1, op, "() argument '", name, "' should contain one int (got ",
              given.size(), ")");
  return {other, given[0]};
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntList kernel_size,
                                                   IntList stride, IntList padding,
                                                   IntList dilation, bool ceil_mode) {
  check_pooled_line("max_pool1d", self);
  const auto [values, indices] = taeda::max_pool2d_with_indices(
      self.unsqueeze(-2), line_pair("max_pool1d", "kernel_size", kernel_size, 1),
      line_pair("max_pool1d", "stride", stride.empty() ? kernel_size : stride, 1),
      line_pair("max_pool1d", "padding", padding, 0),
      line_pair("max_pool1d", "dilation", dilation, 1), ceil_mode);
  return {values.squeeze(-2), indices.squeeze(-2)};
}
namespace {

void check_one(const char* what, const char* kinds, IntList given) {
  TAEDA_CHECK(given.size() == 1, "max_pool1d() ", what, " must be ", kinds,
              " of size 1 but got size ", given.size());
}
void check_positive(const char* what, int64_t value) {
  TAEDA_CHECK(value > 0, "max_pool1d() ", what, " must be greater than zero, but got ", value);
}

// This form has errors of its own in PyTorch.
void check_max_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                      IntList dilation, bool ceil_mode) {
  bool is_filled = self.dim() == 2 || self.dim() == 3;
  for (int64_t d = self.dim() == 2 ? 0 : 1; is_filled && d < self.dim(); ++d)
    is_filled = expect(SymOp::Ne, self.sym_size(d), 0);
  TAEDA_CHECK(is_filled,
              "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size "
              "for input, but got:",
              self.sym_sizes());
  check_one("kernel_size", "an int, list of ints or tuple of ints", kernel_size);
  if (!stride.empty()) check_one("stride", "None, an int, list of ints, or tuple of ints", stride);
  check_one("padding", "an int, list of ints, or tuple of ints", padding);
  check_one("dilation", "an int, list of ints or tuple of ints", dilation);
  check_positive("kernel_size", kernel_size[0]);
  if (!stride.empty()) check_positive("stride", stride[0]);
  TAEDA_CHECK(padding[0] >= 0, "max_pool1d() padding must be non-negative, but got ", padding[0]);
  TAEDA_CHECK(padding[0] <= kernel_size[0] / 2,
              "max_pool1d() padding should be at most half of kernel size, but got padding=",
              padding[0], " and kernel_size=", kernel_size[0]);
  check_positive("dilation", dilation[0]);
  const PoolWindow window = pool_window("max_pool1d", 1, kernel_size, stride, padding, dilation);
  const SymInt count = pooled_size(self.sym_size(-1), window, 0, ceil_mode);
  TAEDA_CHECK(expect(SymOp::Ge, count, 1), "max_pool1d() Invalid computed output size: ", count);
}

}  // namespace

Tensor max_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  IntList dilation, bool ceil_mode) {
  check_max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode);
  // Integers are pooled with indices, as in PyTorch, and in planes and volumes.
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(self.dtype()),
                              "\"max_pool1d_impl\" not implemented for '", self.dtype(), "'");
  return std::get<0>(
      taeda::max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  IntList dilation, bool ceil_mode) {
  return std::get<0>(
      taeda::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}
Tensor max_pool3d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  IntList dilation, bool ceil_mode) {
  return std::get<0>(
      taeda::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

namespace {

// The arguments of avg_pool1d for a plane of one row.
struct RowWindow {
  std::array<int64_t, 2> kernel_size, stride, padding;

  RowWindow(const Tensor& self, IntList kernel_size, IntList stride, IntList padding)
      : kernel_size(line_pair("avg_pool1d", "kernel_size", kernel_size, 1)),
        stride(line_pair("avg_pool1d", "stride", stride.empty() ? kernel_size : stride, 1)),
        padding(line_pair("avg_pool1d", "padding", padding, 0)) {
    check_pooled_line("avg_pool1d", self);
  }
};

// Fits `out` to one row less than `spec` has; the result is its view with that row.
Tensor prepared_row(const char* op, OutSpec spec, Tensor& out) {
  const size_t row = spec.sizes.size() - 2;
  spec.sizes.erase(row);
  spec.prepare_out(out, op);
  return out.unsqueeze(-2);
}

}  // namespace

Tensor avg_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  bool ceil_mode, bool count_include_pad) {
  const RowWindow window(self, kernel_size, stride, padding);
  return taeda::avg_pool2d(self.unsqueeze(-2), window.kernel_size, window.stride, window.padding,
                           ceil_mode, count_include_pad)
      .squeeze(-2);
}
Tensor& avg_pool1d_out(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                       bool ceil_mode, bool count_include_pad, Tensor& out) {
  const RowWindow window(self, kernel_size, stride, padding);
  const Tensor plane = (is_made_apart(out, self) ? self.clone() : self).unsqueeze(-2);
  Tensor row = prepared_row("avg_pool1d",
                            impl::avg_pool2d_spec(plane, window.kernel_size, window.stride,
                                                  window.padding, ceil_mode, count_include_pad, {}),
                            out);
  taeda::avg_pool2d_out(row, plane, window.kernel_size, window.stride, window.padding, ceil_mode,
                        count_include_pad);
  return out;
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntList output_size) {
  check_pooled_line("adaptive_avg_pool1d", self);
  const auto sizes = line_pair("adaptive_avg_pool1d", "output_size", output_size, 1);
  return taeda::adaptive_avg_pool2d(self.unsqueeze(-2), checked_symints(IntList(sizes)))
      .squeeze(-2);
}
Tensor& adaptive_avg_pool1d_out(const Tensor& self, IntList output_size, Tensor& out) {
  check_pooled_line("adaptive_avg_pool1d", self);
  const auto pair = line_pair("adaptive_avg_pool1d", "output_size", output_size, 1);
  const SymIntVec sizes{SymInt(pair[0]), SymInt(pair[1])};
  const Tensor plane = (is_made_apart(out, self) ? self.clone() : self).unsqueeze(-2);
  Tensor row =
      prepared_row("adaptive_avg_pool1d", impl::_adaptive_avg_pool2d_spec(plane, sizes), out);
  taeda::adaptive_avg_pool2d_out(row, plane, sizes);
  return out;
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntList output_size) {
  check_pooled_line("adaptive_max_pool1d", self);
  check_planes("adaptive_max_pool1d", self, 1, 1);
  const auto [values, indices] = taeda::adaptive_max_pool2d(
      self.unsqueeze(-2), line_pair("adaptive_max_pool1d", "output_size", output_size, 1));
  return {values.squeeze(-2), indices.squeeze(-2)};
}

Tensor max_unpool1d(const Tensor& self, const Tensor& indices, SymIntList output_size) {
  TAEDA_CHECK(output_size.size() == 1, "max_unpool1d: output_size should contain one int (got ",
              output_size.size(), ")");
  return taeda::max_unpool2d(self.unsqueeze(-1), indices.unsqueeze(-1), {output_size[0], SymInt(1)})
      .squeeze(-1);
}

namespace {

template <class Max, class Mean>
Tensor lp_pool(const Tensor& self, const Scalar& norm_type, IntList kernel_size, int64_t spatial,
               Max&& max, Mean&& mean) {
  const double p = norm_type.to_double();
  if (p == std::numeric_limits<double>::infinity()) return max(self.abs());
  if (p == -std::numeric_limits<double>::infinity()) return max(self.abs().neg()).neg();
  const Tensor out = mean(self.pow(norm_type));  // It checks the kernel's sizes.
  int64_t count = 1;
  for (int64_t d = 0; d < spatial; ++d) count *= kernel_size[kernel_size.size() == 1 ? 0 : d];
  return out.sign().mul(out.abs().relu()).mul(Scalar(count)).pow(Scalar(1 / p));
}

}  // namespace

Tensor lp_pool1d(const Tensor& self, const Scalar& norm_type, IntList kernel_size, IntList stride,
                 bool ceil_mode) {
  return lp_pool(
      self, norm_type, kernel_size, 1,
      [&](const Tensor& x) {
        return taeda::max_pool1d(x, kernel_size, stride, {0}, {1}, ceil_mode);
      },
      [&](const Tensor& x) { return taeda::avg_pool1d(x, kernel_size, stride, {0}, ceil_mode); });
}
Tensor lp_pool2d(const Tensor& self, const Scalar& norm_type, IntList kernel_size, IntList stride,
                 bool ceil_mode) {
  return lp_pool(
      self, norm_type, kernel_size, 2,
      [&](const Tensor& x) {
        return taeda::max_pool2d(x, kernel_size, stride, {0}, {1}, ceil_mode);
      },
      [&](const Tensor& x) { return taeda::avg_pool2d(x, kernel_size, stride, {0}, ceil_mode); });
}
Tensor lp_pool3d(const Tensor& self, const Scalar& norm_type, IntList kernel_size, IntList stride,
                 bool ceil_mode) {
  return lp_pool(
      self, norm_type, kernel_size, 3,
      [&](const Tensor& x) {
        return taeda::max_pool3d(x, kernel_size, stride, {0}, {1}, ceil_mode);
      },
      [&](const Tensor& x) { return taeda::avg_pool3d(x, kernel_size, stride, {0}, ceil_mode); });
}

}  // namespace taeda::impl
