// Shape rules of pooling to a given size: adaptive and fractional windows, and unpooling.
#include <algorithm>

#include "taeda/ops/cpp_name.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/out_alias.h"
#include "taeda/ops/pooling/checks.h"
#include "taeda/ops/pooling/declarations.h"
#include "taeda/ops/pooling/functions.h"
#include "taeda/ops/pooling/windows.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {
namespace {

// The input's sizes with others in the last dimensions.
SymIntVec with_last_sizes(const Tensor& self, SymIntList last) {
  SymIntVec sizes(self.sym_sizes());
  for (size_t d = 0; d < last.size(); ++d) sizes[sizes.size() - last.size() + d] = last[d];
  return sizes;
}

void check_output_size(const char* op, SymIntList output_size, int64_t spatial) {
  TAEDA_CHECK(static_cast<int64_t>(output_size.size()) == spatial, op, ": output_size must be ",
              spatial);
  std::string given;
  for (const SymInt& size : output_size) given += str(given.empty() ? "" : ", ", size);
  for (const SymInt& size : output_size)
    TAEDA_CHECK(size >= SymInt(0), op,
                ": elements of output_size must be greater than or equal to 0 but received {",
                given, "}");
}

// In the input's format where planes are pooled; what is pooled of volumes is rows.
OutSpec adaptive_spec(const Tensor& self, const SymIntVec& sizes, DType dtype, int64_t spatial) {
  return spatial == 3 ? OutSpec(SymIntList(sizes), dtype, self.device())
                      : pooled_spec(self, sizes, dtype);
}

// PyTorch's function: of volumes it is named with its device.
std::string adaptive_kernel(const char* op, int64_t spatial) {
  return spatial == 3 ? str(op, "_cpu") : op;
}

OutSpec adaptive_avg_spec(const char* op, const Tensor& self, SymIntList output_size,
                          int64_t spatial) {
  check_output_size(op, output_size, spatial);
  // PyTorch lets channels be none in two dimensions.
  check_planes(op, self, spatial, spatial == 2 ? self.dim() - 2 : 1);
  check_pooled_dtype(adaptive_kernel(op, spatial).c_str(), self, kPoolsFloats);
  return adaptive_spec(self, with_last_sizes(self, output_size), self.dtype(), spatial);
}

void check_adaptive_gradient(const char* op, const Tensor& grad_output, const Tensor& self,
                             int64_t spatial) {
  const int64_t ndim = grad_output.dim();
  TAEDA_CHECK(ndim == spatial + 1 || ndim == spatial + 2, op, "(): Expected ", spatial + 1, "D or ",
              spatial + 2, "D grad_output, but got: ", grad_output.sym_sizes());
  for (int64_t d = 1; d < ndim; ++d)
    TAEDA_CHECK(grad_output.sym_size(d) > SymInt(0), op,
                "(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                "grad_output has sizes ",
                grad_output.sym_sizes(), " with dimension ", d, " being empty");
  TAEDA_CHECK(self.dim() == ndim, op, ": Expected dimensions ", self.dim(),
              " for `grad_output` but got dimensions ", ndim);
  check_gradient_dtype(grad_output, self);
  for (int64_t d = 0; d < ndim - spatial; ++d)
    TAEDA_CHECK(grad_output.sym_size(d) == self.sym_size(d), op,
                ": expected the planes of the input, of sizes ", self.sym_sizes(),
                ", got a gradient of sizes ", grad_output.sym_sizes());
}

OutSpec adaptive_avg_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                                   int64_t spatial) {
  check_adaptive_gradient(op, grad_output, self, spatial);
  check_pooled_dtype(op, self, kPoolsFloats);
  return pooled_spec(self, SymIntVec(self.sym_sizes()), self.dtype());
}

std::array<OutSpec, 2> adaptive_max_spec(const char* op, const Tensor& self, IntList output_size,
                                         int64_t spatial) {
  TAEDA_CHECK(static_cast<int64_t>(output_size.size()) == spatial, op,
              "(): internal error: output_size.size() must be ", spatial);
  check_planes(op, self, spatial, 1);
  check_pooled_dtype(adaptive_kernel(op, spatial).c_str(), self, kPoolsFloats);
  const SymIntVec sizes = with_last_sizes(self, checked_symints(output_size));
  return {adaptive_spec(self, sizes, self.dtype(), spatial),
          adaptive_spec(self, sizes, DType::Int64, spatial)};
}

OutSpec adaptive_max_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                                   const Tensor& indices, int64_t spatial) {
  check_adaptive_gradient(op, grad_output, self, spatial);
  TAEDA_CHECK(indices.sym_sizes() == grad_output.sym_sizes(), "expected sizes ",
              indices.sym_sizes(), " for `grad_output` but got sizes ", grad_output.sym_sizes());
  check_pooled_dtype(op, self, kPoolsFloats);
  return pooled_spec(self, SymIntVec(self.sym_sizes()), self.dtype());
}

void check_fractional_samples(const Tensor& self, const Tensor& samples, int64_t spatial) {
  TAEDA_CHECK(self.dtype() == samples.dtype(),
              "Expect _random_samples to have the same dtype as input");
  TAEDA_CHECK(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got ",
              samples.dim());
  const bool is_batched = self.dim() == spatial + 2;
  const SymInt batch = is_batched ? self.sym_size(0) : SymInt(1);
  const SymInt channels = self.sym_size(is_batched ? 1 : 0);
  TAEDA_CHECK(samples.sym_size(0) >= batch,
              "Expect _random_samples.size(0) no less then input batch size.");
  TAEDA_CHECK(samples.sym_size(1) == channels,
              "Expect _random_samples.size(1) equals to input channel size.");
  TAEDA_CHECK(samples.sym_size(2) == SymInt(spatial), "Expect _random_samples.size(2) equals to ",
              spatial, "; got ", samples.sym_size(2), ".");
}

std::array<OutSpec, 2> fractional_spec(const char* op, const Tensor& self, IntList kernel_size,
                                       IntList output_size, const Tensor& samples,
                                       int64_t spatial) {
  const size_t n = static_cast<size_t>(spatial);
  TAEDA_CHECK(kernel_size.size() == n, op,
              ": kernel_size must either be a single Int or tuple of Ints");
  TAEDA_CHECK(output_size.size() == n, op,
              ": output_size must either be a single Int or tuple of Ints");
  check_planes(op, self, spatial, 1);
  const SymIntVec last = last_sizes(self, spatial);
  static constexpr const char* kAxes[] = {"time", "height", "width"};
  for (size_t d = 0; d < n; ++d) {
    TAEDA_CHECK(kernel_size[d] >= 0, op, ": kernel_size must not be negative, got ", kernel_size);
    // In three dimensions PyTorch wants one element more.
    const SymInt room = last[d] - SymInt(output_size[d]) + SymInt(spatial == 3 ? 0 : 1);
    const char* const axis = kAxes[d + 3 - n];
    TAEDA_CHECK(SymInt(kernel_size[d]) <= room, op, "(): pool ", axis, " ", kernel_size[d],
                " too large relative to input ", axis, " ", last[d]);
  }
  check_fractional_samples(self, samples, spatial);
  check_pooled_dtype(op, self, kPoolsFloats);
  const SymIntVec sizes = with_last_sizes(self, checked_symints(output_size));
  return {OutSpec(SymIntList(sizes), self.dtype(), self.device()),
          OutSpec(SymIntList(sizes), DType::Int64, self.device())};
}

OutSpec fractional_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                                 IntList output_size, const Tensor& indices, int64_t spatial) {
  wrap_dim(-spatial - 1, self.dim());
  TAEDA_CHECK(static_cast<int64_t>(output_size.size()) == spatial, op,
              ": output_size must either be a single Int or tuple of Ints");
  const SymIntVec sizes = with_last_sizes(self, checked_symints(output_size));
  TAEDA_CHECK(grad_output.sym_sizes() == SymIntList(sizes), op, "(): gradOutput sizes unexpected");
  TAEDA_CHECK(indices.sym_sizes() == SymIntList(sizes), op, "(): indices sizes unexpected");
  check_pooled_dtype(op, self, kPoolsFloats);
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

OutSpec unpool_spec(const char* op, const char* names, const Tensor& self, const Tensor& indices,
                    SymIntList output_size, int64_t spatial) {
  TAEDA_CHECK(indices.dtype() == DType::Int64,
              "elements in indices should be type int64 but got: ", indices.dtype());
  TAEDA_CHECK(static_cast<int64_t>(output_size.size()) == spatial, "There should be exactly ",
              names, " in output_size, but got ", output_size.size(), " elements.");
  TAEDA_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, "Input to max_unpooling",
              spatial, "d should be a ", spatial + 1, "d or ", spatial + 2,
              "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  TAEDA_CHECK(self.sym_sizes() == indices.sym_sizes(),
              "Expected shape of indices to be same as that of the input tensor (",
              self.sym_sizes(), ") but got indices tensor with shape: ", indices.sym_sizes());
  for (int64_t d = 1; d < self.dim(); ++d)
    TAEDA_CHECK(self.sym_size(d) > SymInt(0), op,
                "(): Expected input to have non-zero size for non-batch dimensions, but got ",
                self.sym_sizes(), " with dimension ", d, " being empty.");
  check_pooled_dtype(op, self, kPoolsFloats);
  return pooled_spec(self, with_last_sizes(self, output_size), self.dtype());
}

// A result of one element per plane is the mean, which is faster and has its own gradient.
bool is_mean(SymIntList output_size) {
  return std::all_of(output_size.begin(), output_size.end(),
                     [](const SymInt& size) { return size == SymInt(1); });
}
IntList pooled_dims(int64_t spatial) {
  static constexpr int64_t kDims[] = {-1, -2, -3};
  return IntList(kDims, static_cast<size_t>(spatial));
}

Tensor adaptive_mean(const char* op, const Tensor& self, SymIntList output_size, int64_t spatial) {
  check_output_size(op, output_size, spatial);
  if (!is_mean(output_size))
    return spatial == 2 ? taeda::_adaptive_avg_pool2d(self, output_size)
                        : taeda::_adaptive_avg_pool3d(self, output_size);
  const Tensor out = self.mean(pooled_dims(spatial), true);
  if (self.suggested_format() == MemoryFormat::Contiguous) return out;
  // The strides of dimensions of one element say the format, too.
  return out.as_strided(out.sym_sizes(), channels_last_strides(out.sym_sizes()));
}

// Unlike other operators this one resizes `out` without a warning.
void prepare_means(const OutSpec& spec, const Tensor& self, Tensor& out) {
  TAEDA_CHECK(self.dtype() == out.dtype(), "expected dtype ", cpp_name(self.dtype()),
              " for `output` but got dtype ", cpp_name(out.dtype()));
  check_keeps_input(spec, out, self);
  resize_to(out, spec.sizes);
}

}  // namespace

Tensor adaptive_avg_pool2d(const Tensor& self, SymIntList output_size) {
  return adaptive_mean("adaptive_avg_pool2d", self, output_size, 2);
}
Tensor& adaptive_avg_pool2d_out(const Tensor& self, SymIntList output_size, Tensor& out) {
  prepare_means(impl::_adaptive_avg_pool2d_spec(self, output_size), self, out);
  if (is_mean(output_size)) return taeda::mean_out(out, self, pooled_dims(2), true);
  return taeda::_adaptive_avg_pool2d_out(out, self, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& self, SymIntList output_size) {
  return adaptive_mean("adaptive_avg_pool3d", self, output_size, 3);
}
Tensor& adaptive_avg_pool3d_out(const Tensor& self, SymIntList output_size, Tensor& out) {
  prepare_means(impl::_adaptive_avg_pool3d_spec(self, output_size), self, out);
  if (is_mean(output_size)) return taeda::mean_out(out, self, pooled_dims(3), true);
  return taeda::_adaptive_avg_pool3d_out(out, self, output_size);
}

OutSpec _adaptive_avg_pool2d_spec(const Tensor& self, SymIntList output_size) {
  return adaptive_avg_spec("adaptive_avg_pool2d", self, output_size, 2);
}
OutSpec _adaptive_avg_pool3d_spec(const Tensor& self, SymIntList output_size) {
  return adaptive_avg_spec("adaptive_avg_pool3d", self, output_size, 3);
}
OutSpec _adaptive_avg_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self) {
  return adaptive_avg_backward_spec("adaptive_avg_pool2d_backward", grad_output, self, 2);
}
OutSpec _adaptive_avg_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self) {
  return adaptive_avg_backward_spec("adaptive_avg_pool3d_backward", grad_output, self, 3);
}

std::array<OutSpec, 2> adaptive_max_pool2d_spec(const Tensor& self, IntList output_size) {
  return adaptive_max_spec("adaptive_max_pool2d", self, output_size, 2);
}
std::array<OutSpec, 2> adaptive_max_pool3d_spec(const Tensor& self, IntList output_size) {
  return adaptive_max_spec("adaptive_max_pool3d", self, output_size, 3);
}
OutSpec adaptive_max_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                          const Tensor& indices) {
  return adaptive_max_backward_spec("adaptive_max_pool2d_backward", grad_output, self, indices, 2);
}
OutSpec adaptive_max_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                          const Tensor& indices) {
  return adaptive_max_backward_spec("adaptive_max_pool3d_backward", grad_output, self, indices, 3);
}

std::array<OutSpec, 2> fractional_max_pool2d_spec(const Tensor& self, IntList kernel_size,
                                                  IntList output_size,
                                                  const Tensor& random_samples) {
  return fractional_spec("fractional_max_pool2d", self, kernel_size, output_size, random_samples,
                         2);
}
std::array<OutSpec, 2> fractional_max_pool3d_spec(const Tensor& self, IntList kernel_size,
                                                  IntList output_size,
                                                  const Tensor& random_samples) {
  return fractional_spec("fractional_max_pool3d", self, kernel_size, output_size, random_samples,
                         3);
}
OutSpec fractional_max_pool2d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList,
                                            IntList output_size, const Tensor& indices) {
  return fractional_backward_spec("fractional_max_pool2d_backward", grad_output, self, output_size,
                                  indices, 2);
}
OutSpec fractional_max_pool3d_backward_spec(const Tensor& grad_output, const Tensor& self, IntList,
                                            IntList output_size, const Tensor& indices) {
  return fractional_backward_spec("fractional_max_pool3d_backward", grad_output, self, output_size,
                                  indices, 3);
}

OutSpec max_unpool2d_spec(const Tensor& self, const Tensor& indices, SymIntList output_size) {
  return unpool_spec("max_unpool2d", "two elements (height, width)", self, indices, output_size, 2);
}
OutSpec max_unpool3d_spec(const Tensor& self, const Tensor& indices, SymIntList output_size,
                          IntList stride, IntList padding) {
  TAEDA_CHECK(stride.size() == 3,
              "There should be exactly three elements (depth, height, width) in stride, but got: ",
              stride.size(), " elements.");
  TAEDA_CHECK(padding.size() == 3,
              "There should be exactly three elements (depth, height, width) in padding, but got: ",
              padding.size(), " elements.");
  for (const int64_t s : stride)
    TAEDA_CHECK(s > 0, "strides should be greater than zero, but got stride: ", stride);
  return unpool_spec("max_unpool3d", "three elements (depth, height, width)", self, indices,
                     output_size, 3);
}

}  // namespace taeda::impl
