// Resampling on the CPU: elements moved where each result has one source, else rows by weights.
#include "taeda/backends/cpu/resample_declarations.h"
#include "taeda/backends/cpu/window/resample.h"

namespace taeda::cpu {

using Scales = std::vector<std::optional<double>>;

void upsample_nearest1d(const Tensor& self, SymIntList, std::optional<double> scales, Tensor& out) {
  const Scales scales_of{scales};
  resample(Filter::Nearest, self, false, scales_of, out);
}
void upsample_nearest1d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                 std::optional<double> scales, Tensor& grad_input) {
  const Scales scales_of{scales};
  resample_backward(Filter::Nearest, grad_output, false, scales_of, grad_input);
}
void _upsample_nearest_exact1d(const Tensor& self, SymIntList, std::optional<double> scales,
                               Tensor& out) {
  const Scales scales_of{scales};
  resample(Filter::NearestExact, self, false, scales_of, out);
}
void _upsample_nearest_exact1d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                        std::optional<double> scales, Tensor& grad_input) {
  const Scales scales_of{scales};
  resample_backward(Filter::NearestExact, grad_output, false, scales_of, grad_input);
}
void upsample_nearest2d(const Tensor& self, SymIntList, std::optional<double> scales_h,
                        std::optional<double> scales_w, Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::Nearest, self, false, scales_of, out);
}
void upsample_nearest2d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                 std::optional<double> scales_h, std::optional<double> scales_w,
                                 Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::Nearest, grad_output, false, scales_of, grad_input);
}
void _upsample_nearest_exact2d(const Tensor& self, SymIntList, std::optional<double> scales_h,
                               std::optional<double> scales_w, Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::NearestExact, self, false, scales_of, out);
}
void _upsample_nearest_exact2d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                        std::optional<double> scales_h,
                                        std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::NearestExact, grad_output, false, scales_of, grad_input);
}
void upsample_nearest3d(const Tensor& self, SymIntList, std::optional<double> scales_d,
                        std::optional<double> scales_h, std::optional<double> scales_w,
                        Tensor& out) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample(Filter::Nearest, self, false, scales_of, out);
}
void upsample_nearest3d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                 std::optional<double> scales_d, std::optional<double> scales_h,
                                 std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample_backward(Filter::Nearest, grad_output, false, scales_of, grad_input);
}
void _upsample_nearest_exact3d(const Tensor& self, SymIntList, std::optional<double> scales_d,
                               std::optional<double> scales_h, std::optional<double> scales_w,
                               Tensor& out) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample(Filter::NearestExact, self, false, scales_of, out);
}
void _upsample_nearest_exact3d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                        std::optional<double> scales_d,
                                        std::optional<double> scales_h,
                                        std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample_backward(Filter::NearestExact, grad_output, false, scales_of, grad_input);
}
void upsample_linear1d(const Tensor& self, SymIntList, bool align_corners,
                       std::optional<double> scales, Tensor& out) {
  const Scales scales_of{scales};
  resample(Filter::Linear, self, align_corners, scales_of, out);
}
void upsample_linear1d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                bool align_corners, std::optional<double> scales,
                                Tensor& grad_input) {
  const Scales scales_of{scales};
  resample_backward(Filter::Linear, grad_output, align_corners, scales_of, grad_input);
}
void upsample_bilinear2d(const Tensor& self, SymIntList, bool align_corners,
                         std::optional<double> scales_h, std::optional<double> scales_w,
                         Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::Linear, self, align_corners, scales_of, out);
}
void upsample_bilinear2d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                  bool align_corners, std::optional<double> scales_h,
                                  std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::Linear, grad_output, align_corners, scales_of, grad_input);
}
void upsample_trilinear3d(const Tensor& self, SymIntList, bool align_corners,
                          std::optional<double> scales_d, std::optional<double> scales_h,
                          std::optional<double> scales_w, Tensor& out) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample(Filter::Linear, self, align_corners, scales_of, out);
}
void upsample_trilinear3d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                   bool align_corners, std::optional<double> scales_d,
                                   std::optional<double> scales_h, std::optional<double> scales_w,
                                   Tensor& grad_input) {
  const Scales scales_of{scales_d, scales_h, scales_w};
  resample_backward(Filter::Linear, grad_output, align_corners, scales_of, grad_input);
}
void upsample_bicubic2d(const Tensor& self, SymIntList, bool align_corners,
                        std::optional<double> scales_h, std::optional<double> scales_w,
                        Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::Cubic, self, align_corners, scales_of, out);
}
void upsample_bicubic2d_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                 bool align_corners, std::optional<double> scales_h,
                                 std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::Cubic, grad_output, align_corners, scales_of, grad_input);
}
void _upsample_bilinear2d_aa(const Tensor& self, SymIntList, bool align_corners,
                             std::optional<double> scales_h, std::optional<double> scales_w,
                             Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::WideLinear, self, align_corners, scales_of, out);
}
void _upsample_bilinear2d_aa_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                      bool align_corners, std::optional<double> scales_h,
                                      std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::WideLinear, grad_output, align_corners, scales_of, grad_input);
}
void _upsample_bicubic2d_aa(const Tensor& self, SymIntList, bool align_corners,
                            std::optional<double> scales_h, std::optional<double> scales_w,
                            Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::WideCubic, self, align_corners, scales_of, out);
}
void _upsample_bicubic2d_aa_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                     bool align_corners, std::optional<double> scales_h,
                                     std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::WideCubic, grad_output, align_corners, scales_of, grad_input);
}
void _upsample_lanczos2d_aa(const Tensor& self, SymIntList, bool align_corners,
                            std::optional<double> scales_h, std::optional<double> scales_w,
                            Tensor& out) {
  const Scales scales_of{scales_h, scales_w};
  resample(Filter::WideLanczos, self, align_corners, scales_of, out);
}
void _upsample_lanczos2d_aa_backward(const Tensor& grad_output, SymIntList, SymIntList,
                                     bool align_corners, std::optional<double> scales_h,
                                     std::optional<double> scales_w, Tensor& grad_input) {
  const Scales scales_of{scales_h, scales_w};
  resample_backward(Filter::WideLanczos, grad_output, align_corners, scales_of, grad_input);
}

}  // namespace taeda::cpu
