// Shape rules of pooling with windows of one size.
#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/checks.h"
#include "taeda/ops/pooling/declarations.h"
#include "taeda/ops/pooling/functions.h"
#include "taeda/ops/pooling/windows.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_window_positive(const char* what, const IntVec& values) {
  for (const int64_t v : values)
    TAEDA_CHECK(v > 0, what, " should be greater than zero, but got ", IntList(values));
}

void check_dilation_positive(const IntVec& dilation) {
  std::string given;
  for (size_t d = 0; d < dilation.size(); ++d)
    given += str(d ? " " : "", "dilation", "THW"[3 - dilation.size() + d], ": ", dilation[d]);
  for (const int64_t v : dilation)
    TAEDA_CHECK(v > 0, "dilation should be greater than zero, but got ", given);
}

// The last sizes as in "2x5x4".
std::string crossed(SymIntList sizes, int64_t last) {
  std::string out;
  for (size_t d = sizes.size() - static_cast<size_t>(last); d < sizes.size(); ++d)
    out += out.empty() ? str(sizes[d]) : str("x", sizes[d]);
  return out;
}

void check_plane(const Tensor& self, bool is_plane) {
  TAEDA_CHECK(is_plane,
              "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
              "got:",
              self.sym_sizes());
}

void check_rank_2d(const Tensor& self) {
  const int64_t ndim = self.dim();
  TAEDA_CHECK(
      ndim == 3 || ndim == 4,
      "non-empty 3D or 4D (batch mode) tensor expected for input, but got: ", self.sym_sizes());
  bool is_empty = false;
  for (int64_t d = ndim == 3 ? 0 : 1; d < ndim; ++d) is_empty |= self.sym_size(d) == SymInt(0);
  check_plane(self, !is_empty);
}

void check_rank_3d(const char* op, const Tensor& self) {
  const int64_t ndim = self.dim();
  TAEDA_CHECK(ndim == 4 || ndim == 5,
              "non-empty 4D or 5D (batch mode) tensor expected for input: ", op, " got ",
              self.sym_sizes());
  for (int64_t d = ndim == 4 ? 0 : 1; d < ndim; ++d)
    TAEDA_CHECK(expect(SymOp::Gt, self.sym_size(d), 0), op,
                "(): Expected input's non-batch dimensions to have positive length, but input has "
                "a shape of ",
                self.sym_sizes(), " and non-batch dimension ", d, " has length zero!");
}

// The sizes of a result, after PyTorch's checks of the window against the input.
SymIntVec pooled_sizes(const char* op, const Tensor& self, const PoolWindow& w, bool ceil_mode) {
  const int64_t spatial = static_cast<int64_t>(w.kernel.size()), ndim = self.dim();
  const int64_t first = ndim - spatial;
  for (const int64_t stride : w.stride) TAEDA_CHECK(stride != 0, "stride should not be zero");
  check_window_positive("kernel size", w.kernel);
  check_window_positive("stride", w.stride);
  check_dilation_positive(w.dilation);
  if (spatial == 2)
    check_rank_2d(self);
  else
    check_rank_3d(op, self);
  SymIntVec sizes(self.sym_sizes());
  for (int64_t d = 0; d < spatial; ++d) {
    sizes[first + d] = pooled_size(self.sym_size(first + d), w, d, ceil_mode);
    TAEDA_CHECK(w.kernel[d] / 2 >= w.padding[d],
                "pad should be smaller than or equal to half of kernel size, but got pad = ",
                IntList(w.padding), ", kernel size = ", IntList(w.kernel));
  }
  bool is_too_small = false;
  for (int64_t d = first; d < ndim; ++d) is_too_small |= !expect(SymOp::Ge, sizes[d], 1);
  TAEDA_CHECK(!is_too_small, "Given input size: (", crossed(self.sym_sizes(), spatial + 1),
              "). Calculated output size: (", crossed(sizes, spatial + 1),
              "). Output size is too small");
  return sizes;
}

// Strides of a volume without a batch whose channels lie innermost.
SymIntVec one_volume_strides(SymIntList sizes) {
  SymIntVec batch(sizes);
  batch.insert(0, SymInt(1));
  const SymIntVec strides = channels_last_strides(batch);
  return SymIntVec(strides.begin() + 1, strides.end());
}

std::array<OutSpec, 2> max_pool_spec(const char* op, const Tensor& self, const PoolWindow& w,
                                     bool ceil_mode) {
  const SymIntVec sizes = pooled_sizes(op, self, w, ceil_mode);
  check_pooled_dtype(op, self, kPoolsIntegers);
  std::array<OutSpec, 2> specs{pooled_spec(self, sizes, self.dtype()),
                               pooled_spec(self, sizes, DType::Int64)};
  const bool is_one_volume = w.kernel.size() == 3 && self.dim() == 4;
  if (is_one_volume && !self.is_contiguous() &&
      self.sym_strides() == SymIntList(one_volume_strides(self.sym_sizes())))
    for (OutSpec& spec : specs) spec.strides = one_volume_strides(sizes);
  return specs;
}

OutSpec max_pool_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                               const PoolWindow& w, bool ceil_mode, const Tensor& indices) {
  check_gradient_dtype(grad_output, self);
  const SymIntVec sizes = pooled_sizes(op, self, w, ceil_mode);
  check_gradient_sizes(grad_output, sizes);
  check_gradient_sizes(indices, sizes);
  check_pooled_dtype(op, self, kPoolsFloats);
  return pooled_spec(self, SymIntVec(self.sym_sizes()), self.dtype());
}

void check_pool_divisor(const std::optional<int64_t>& divisor) {
  TAEDA_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
}

// PyTorch refuses a 3D window that is greater than the input, whatever the padding.
void check_window_fits(const Tensor& self, const PoolWindow& w) {
  const int64_t first = self.dim() - static_cast<int64_t>(w.kernel.size());
  for (size_t d = 0; d < w.kernel.size(); ++d)
    TAEDA_CHECK(expect(SymOp::Ge, self.sym_size(first + d), w.kernel[d]),
                "input image (T: ", self.sym_size(-3), " H: ", self.sym_size(-2),
                " W: ", self.sym_size(-1), ") smaller than kernel size (kT: ", w.kernel[0],
                " kH: ", w.kernel[1], " kW: ", w.kernel[2], ")");
}

OutSpec avg_pool_spec(const char* op, const Tensor& self, const PoolWindow& w, bool ceil_mode,
                      const std::optional<int64_t>& divisor) {
  check_pool_divisor(divisor);
  if (w.kernel.size() == 3 && self.dim() >= 4) check_window_fits(self, w);
  if (w.kernel.size() == 2) {
    // Unlike those of maxima, means read the channels before they count dimensions.
    wrap_dim(-3, self.dim(), /*wrap_scalar=*/false);
    check_plane(self, self.dim() <= 4);
  }
  const SymIntVec sizes = pooled_sizes(op, self, w, ceil_mode);
  check_pooled_dtype(w.kernel.size() == 3 ? "avg_pool3d_out_frame" : op, self, kPoolsLong);
  // Means of volumes are rows whatever the input is.
  if (w.kernel.size() == 3) return OutSpec(SymIntList(sizes), self.dtype(), self.device());
  return pooled_spec(self, sizes, self.dtype());
}

OutSpec avg_pool_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                               const PoolWindow& w, bool ceil_mode,
                               const std::optional<int64_t>& divisor) {
  check_pool_divisor(divisor);
  check_gradient_dtype(grad_output, self);
  check_gradient_sizes(grad_output, pooled_sizes(op, self, w, ceil_mode));
  check_pooled_dtype(op, self, kPoolsLong);
  return pooled_spec(self, SymIntVec(self.sym_sizes()), self.dtype());
}

}  // namespace

std::array<OutSpec, 2> max_pool2d_with_indices_spec(const Tensor& self, IntList kernel_size,
                                                    IntList stride, IntList padding,
                                                    IntList dilation, bool ceil_mode) {
  return max_pool_spec("max_pool2d", self,
                       pool_window("max_pool2d", 2, kernel_size, stride, padding, dilation),
                       ceil_mode);
}
std::array<OutSpec, 2> max_pool3d_with_indices_spec(const Tensor& self, IntList kernel_size,
                                                    IntList stride, IntList padding,
                                                    IntList dilation, bool ceil_mode) {
  return max_pool_spec("max_pool3d", self,
                       pool_window("max_pool3d", 3, kernel_size, stride, padding, dilation),
                       ceil_mode);
}
OutSpec max_pool2d_with_indices_backward_spec(const Tensor& grad_output, const Tensor& self,
                                              IntList kernel_size, IntList stride, IntList padding,
                                              IntList dilation, bool ceil_mode,
                                              const Tensor& indices) {
  return max_pool_backward_spec(
      "max_pool2d", grad_output, self,
      pool_window("max_pool2d", 2, kernel_size, stride, padding, dilation), ceil_mode, indices);
}
OutSpec max_pool3d_with_indices_backward_spec(const Tensor& grad_output, const Tensor& self,
                                              IntList kernel_size, IntList stride, IntList padding,
                                              IntList dilation, bool ceil_mode,
                                              const Tensor& indices) {
  return max_pool_backward_spec(
      "max_pool3d", grad_output, self,
      pool_window("max_pool3d", 3, kernel_size, stride, padding, dilation), ceil_mode, indices);
}
OutSpec avg_pool2d_spec(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                        bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return avg_pool_spec("avg_pool2d", self,
                       pool_window("avg_pool2d", 2, kernel_size, stride, padding), ceil_mode,
                       divisor_override);
}
OutSpec avg_pool3d_spec(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                        bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return avg_pool_spec("avg_pool3d", self,
                       pool_window("avg_pool3d", 3, kernel_size, stride, padding), ceil_mode,
                       divisor_override);
}
OutSpec avg_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                                 IntList stride, IntList padding, bool ceil_mode, bool,
                                 std::optional<int64_t> divisor_override) {
  return avg_pool_backward_spec("avg_pool2d", grad_output, self,
                                pool_window("avg_pool2d", 2, kernel_size, stride, padding),
                                ceil_mode, divisor_override);
}
OutSpec avg_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                                 IntList stride, IntList padding, bool ceil_mode, bool,
                                 std::optional<int64_t> divisor_override) {
  return avg_pool_backward_spec("avg_pool3d", grad_output, self,
                                pool_window("avg_pool3d", 3, kernel_size, stride, padding),
                                ceil_mode, divisor_override);
}

}  // namespace taeda::impl
