// Pooling operators made of others: one dimension as two, and norms as means.
#include <cmath>
#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/checks.h"
#include "taeda/ops/pooling/declarations.h"
#include "taeda/ops/pooling/functions.h"

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
Tensor max_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  IntList dilation, bool ceil_mode) {
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

Tensor avg_pool1d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                  bool ceil_mode, bool count_include_pad) {
  check_pooled_line("avg_pool1d", self);
  return taeda::avg_pool2d(
             self.unsqueeze(-2), line_pair("avg_pool1d", "kernel_size", kernel_size, 1),
             line_pair("avg_pool1d", "stride", stride.empty() ? kernel_size : stride, 1),
             line_pair("avg_pool1d", "padding", padding, 0), ceil_mode, count_include_pad)
      .squeeze(-2);
}
Tensor& avg_pool1d_out(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                       bool ceil_mode, bool count_include_pad, Tensor& out) {
  const Tensor made =
      taeda::avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad);
  resize_output(out, made.sym_sizes());
  return out.copy_(made);
}

Tensor adaptive_avg_pool1d(const Tensor& self, IntList output_size) {
  check_pooled_line("adaptive_avg_pool1d", self);
  const auto sizes = line_pair("adaptive_avg_pool1d", "output_size", output_size, 1);
  return taeda::adaptive_avg_pool2d(self.unsqueeze(-2), as_symint(IntList(sizes))).squeeze(-2);
}
Tensor& adaptive_avg_pool1d_out(const Tensor& self, IntList output_size, Tensor& out) {
  const Tensor made = taeda::adaptive_avg_pool1d(self, output_size);
  resize_output(out, made.sym_sizes());
  return out.copy_(made);
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
  int64_t count = 1;
  for (int64_t d = 0; d < spatial; ++d) count *= kernel_size[kernel_size.size() == 1 ? 0 : d];
  const Tensor out = mean(self.pow(norm_type));
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
