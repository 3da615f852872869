// Shape rules of resampling.
#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/resample/declarations.h"
#include "taeda/ops/resample/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

// "(H: 2, W: 3)"
std::string named_sizes(SymIntList sizes) {
  constexpr const char* kNames[] = {"D", "H", "W"};
  std::string text;
  for (size_t d = 0; d < sizes.size(); ++d)
    text += str(d == 0 ? "(" : ", ", kNames[3 - sizes.size() + d], ": ", sizes[d]);
  return text + ")";
}

// The last dimensions, which are to be positive before and after.
SymIntVec resampled_sizes(SymIntList input_size, SymIntList output_size, int64_t spatial) {
  TAEDA_CHECK(static_cast<int64_t>(output_size.size()) == spatial,
              "It is expected output_size equals to ", spatial, ", but got size ",
              output_size.size());
  TAEDA_CHECK(static_cast<int64_t>(input_size.size()) == spatial + 2,
              "It is expected input_size equals to ", spatial + 2, ", but got size ",
              input_size.size());
  SymIntVec sizes(input_size);
  for (int64_t d = 0; d < spatial; ++d) {
    TAEDA_CHECK(expect(SymOp::Gt, input_size[d + 2], 0) && expect(SymOp::Gt, output_size[d], 0),
                "Input and output sizes should be greater than 0, but got input ",
                named_sizes(input_size.slice(2, static_cast<size_t>(spatial))),
                spatial == 1 ? " and output " : " output ", named_sizes(output_size));
    sizes[d + 2] = output_size[d];
  }
  return sizes;
}

void check_resampled_dtype(const char* op, DType t, bool takes_bytes) {
  const bool is_taken = (is_floating(t) && !is_float8(t)) || (takes_bytes && t == DType::Byte);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken, "\"", op, "\" not implemented for '", t, "'");
}

OutSpec like_resampled(const Tensor& self, const SymIntVec& sizes) {
  OutSpec spec(SymIntList(sizes), self.dtype(), self.device());
  if (self.suggested_format() != MemoryFormat::Contiguous)
    spec.strides = channels_last_strides(sizes);
  return spec;
}

OutSpec resampled_spec(const char* op, const Tensor& self, SymIntList output_size,
                       int64_t spatial) {
  const SymIntVec sizes = resampled_sizes(self.sym_sizes(), output_size, spatial);
  TAEDA_CHECK(sizes[1] != SymInt(0), "Non-empty ", spatial + 2,
              "D data tensor expected but got a tensor with sizes ", self.sym_sizes());
  check_resampled_dtype(op, self.dtype(), true);
  return like_resampled(self, sizes);
}

OutSpec resampled_backward_spec(const char* op, const Tensor& grad_output, SymIntList output_size,
                                SymIntList input_size, int64_t spatial) {
  const SymIntVec sizes = resampled_sizes(input_size, output_size, spatial);
  TAEDA_CHECK(grad_output.dim() == spatial + 2, "Expected grad_output to be a tensor of dimension ",
              spatial + 2, " but got: dimension ", grad_output.dim());
  for (int64_t d = 0; d < spatial + 2; ++d)
    TAEDA_CHECK(grad_output.sym_size(d) == sizes[d],
                "Expected grad_output to have the same shape as output; output.size(", d,
                ") = ", sizes[d], " but got grad_output.size(", d, ") = ", grad_output.sym_size(d));
  check_resampled_dtype(op, grad_output.dtype(), false);
  return like_resampled(grad_output, SymIntVec(input_size));
}

}  // namespace

OutSpec upsample_nearest1d_spec(const Tensor& self, SymIntList output_size, std::optional<double>) {
  return resampled_spec("upsample_nearest1d", self, output_size, 1);
}
OutSpec upsample_nearest1d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                         SymIntList input_size, std::optional<double>) {
  return resampled_backward_spec("upsample_nearest1d_backward", grad_output, output_size,
                                 input_size, 1);
}
OutSpec _upsample_nearest_exact1d_spec(const Tensor& self, SymIntList output_size,
                                       std::optional<double>) {
  return resampled_spec("_upsample_nearest_exact1d", self, output_size, 1);
}
OutSpec _upsample_nearest_exact1d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                                SymIntList input_size, std::optional<double>) {
  return resampled_backward_spec("_upsample_nearest_exact1d_backward", grad_output, output_size,
                                 input_size, 1);
}
OutSpec upsample_nearest2d_spec(const Tensor& self, SymIntList output_size, std::optional<double>,
                                std::optional<double>) {
  return resampled_spec("upsample_nearest2d", self, output_size, 2);
}
OutSpec upsample_nearest2d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                         SymIntList input_size, std::optional<double>,
                                         std::optional<double>) {
  return resampled_backward_spec("upsample_nearest2d_backward", grad_output, output_size,
                                 input_size, 2);
}
OutSpec _upsample_nearest_exact2d_spec(const Tensor& self, SymIntList output_size,
                                       std::optional<double>, std::optional<double>) {
  return resampled_spec("_upsample_nearest_exact2d", self, output_size, 2);
}
OutSpec _upsample_nearest_exact2d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                                SymIntList input_size, std::optional<double>,
                                                std::optional<double>) {
  return resampled_backward_spec("_upsample_nearest_exact2d_backward", grad_output, output_size,
                                 input_size, 2);
}
OutSpec upsample_nearest3d_spec(const Tensor& self, SymIntList output_size, std::optional<double>,
                                std::optional<double>, std::optional<double>) {
  return resampled_spec("upsample_nearest3d", self, output_size, 3);
}
OutSpec upsample_nearest3d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                         SymIntList input_size, std::optional<double>,
                                         std::optional<double>, std::optional<double>) {
  return resampled_backward_spec("upsample_nearest3d_backward", grad_output, output_size,
                                 input_size, 3);
}
OutSpec _upsample_nearest_exact3d_spec(const Tensor& self, SymIntList output_size,
                                       std::optional<double>, std::optional<double>,
                                       std::optional<double>) {
  return resampled_spec("_upsample_nearest_exact3d", self, output_size, 3);
}
OutSpec _upsample_nearest_exact3d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                                SymIntList input_size, std::optional<double>,
                                                std::optional<double>, std::optional<double>) {
  return resampled_backward_spec("_upsample_nearest_exact3d_backward", grad_output, output_size,
                                 input_size, 3);
}
OutSpec upsample_linear1d_spec(const Tensor& self, SymIntList output_size, bool,
                               std::optional<double>) {
  return resampled_spec("upsample_linear1d", self, output_size, 1);
}
OutSpec upsample_linear1d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                        SymIntList input_size, bool, std::optional<double>) {
  return resampled_backward_spec("upsample_linear1d_backward", grad_output, output_size, input_size,
                                 1);
}
OutSpec upsample_bilinear2d_spec(const Tensor& self, SymIntList output_size, bool,
                                 std::optional<double>, std::optional<double>) {
  return resampled_spec("upsample_bilinear2d", self, output_size, 2);
}
OutSpec upsample_bilinear2d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                          SymIntList input_size, bool, std::optional<double>,
                                          std::optional<double>) {
  return resampled_backward_spec("upsample_bilinear2d_backward", grad_output, output_size,
                                 input_size, 2);
}
OutSpec upsample_trilinear3d_spec(const Tensor& self, SymIntList output_size, bool,
                                  std::optional<double>, std::optional<double>,
                                  std::optional<double>) {
  return resampled_spec("upsample_trilinear3d", self, output_size, 3);
}
OutSpec upsample_trilinear3d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                           SymIntList input_size, bool, std::optional<double>,
                                           std::optional<double>, std::optional<double>) {
  return resampled_backward_spec("upsample_trilinear3d_backward", grad_output, output_size,
                                 input_size, 3);
}
OutSpec upsample_bicubic2d_spec(const Tensor& self, SymIntList output_size, bool,
                                std::optional<double>, std::optional<double>) {
  return resampled_spec("upsample_bicubic2d", self, output_size, 2);
}
OutSpec upsample_bicubic2d_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                         SymIntList input_size, bool, std::optional<double>,
                                         std::optional<double>) {
  OutSpec spec = resampled_backward_spec("upsample_bicubic2d_backward", grad_output, output_size,
                                         input_size, 2);
  spec.strides.clear();  // rows whatever the gradient is
  return spec;
}
OutSpec _upsample_bilinear2d_aa_spec(const Tensor& self, SymIntList output_size, bool,
                                     std::optional<double>, std::optional<double>) {
  return resampled_spec("_upsample_bilinear2d_aa", self, output_size, 2);
}
OutSpec _upsample_bilinear2d_aa_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                              SymIntList input_size, bool, std::optional<double>,
                                              std::optional<double>) {
  return resampled_backward_spec("_upsample_bilinear2d_aa_backward", grad_output, output_size,
                                 input_size, 2);
}
OutSpec _upsample_bicubic2d_aa_spec(const Tensor& self, SymIntList output_size, bool,
                                    std::optional<double>, std::optional<double>) {
  return resampled_spec("_upsample_bicubic2d_aa", self, output_size, 2);
}
OutSpec _upsample_bicubic2d_aa_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                             SymIntList input_size, bool, std::optional<double>,
                                             std::optional<double>) {
  return resampled_backward_spec("_upsample_bicubic2d_aa_backward", grad_output, output_size,
                                 input_size, 2);
}
OutSpec _upsample_lanczos2d_aa_spec(const Tensor& self, SymIntList output_size, bool,
                                    std::optional<double>, std::optional<double>) {
  return resampled_spec("_upsample_lanczos2d_aa", self, output_size, 2);
}
OutSpec _upsample_lanczos2d_aa_backward_spec(const Tensor& grad_output, SymIntList output_size,
                                             SymIntList input_size, bool, std::optional<double>,
                                             std::optional<double>) {
  return resampled_backward_spec("_upsample_lanczos2d_aa_backward", grad_output, output_size,
                                 input_size, 2);
}

}  // namespace taeda::impl
