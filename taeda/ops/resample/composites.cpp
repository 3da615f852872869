// Resampling by factors, and the modes of `interpolate`.
#include <algorithm>
#include <cmath>

#include "taeda/ops/functions.h"
#include "taeda/ops/pooling/functions.h"
#include "taeda/ops/resample/declarations.h"
#include "taeda/ops/resample/functions.h"

namespace taeda::impl {
namespace {

// A size times a factor, rounded down; symbolic where the factor is a quotient by a power of two,
// with which no product of sizes is rounded.
SymInt scaled_size(const SymInt& size, double factor) {
  constexpr double kMost = 1024, kParts = 1024;
  if (size.is_symbolic() && std::abs(factor) <= kMost &&
      std::floor(factor * kParts) == factor * kParts) {
    int64_t parts = 1;
    while (std::floor(factor * static_cast<double>(parts)) != factor * static_cast<double>(parts))
      parts *= 2;
    return size * SymInt(static_cast<int64_t>(factor * static_cast<double>(parts))) / SymInt(parts);
  }
  return SymInt(Scalar(std::floor(static_cast<double>(size.expect_int()) * factor)).to_int());
}

// The size asked for, or the one that factors give, which then count themselves.
struct Resampled {
  SymIntVec sizes;
  std::optional<Span<double>> factors;

  Resampled(const Tensor& input, const std::optional<SymIntList>& size,
            const std::optional<Span<double>>& given)
      : factors(given) {
    TAEDA_CHECK(size.has_value() != given.has_value(),
                "Must specify exactly one of output_size and scale_factors");
    const int64_t spatial = input.dim() - 2;
    if (size) {
      TAEDA_CHECK(static_cast<int64_t>(size->size()) == spatial,
                  "It is expected output_size equals to ", spatial, ", but got size ",
                  size->size());
      sizes = SymIntVec(*size);
      return;
    }
    TAEDA_CHECK(static_cast<int64_t>(given->size()) == spatial,
                "It is expected scale_factors equals to ", spatial, ", but got size ",
                given->size());
    for (int64_t d = 0; d < spatial; ++d)
      sizes.push_back(scaled_size(input.sym_size(d + 2), (*given)[d]));
  }
  std::optional<double> scale(size_t d) const {
    if (!factors) return std::nullopt;
    TAEDA_CHECK(d < factors->size(), "ArrayRef: invalid index Index = ", d,
                "; Length = ", factors->size());
    return (*factors)[d];
  }
};

}  // namespace

Tensor upsample_nearest1d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                              std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_nearest1d(input, SymIntList(to.sizes), to.scale(0));
}
Tensor _upsample_nearest_exact1d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                     std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_nearest_exact1d(input, SymIntList(to.sizes), to.scale(0));
}
Tensor upsample_nearest2d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                              std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_nearest2d(input, SymIntList(to.sizes), to.scale(0), to.scale(1));
}
Tensor _upsample_nearest_exact2d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                     std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_nearest_exact2d(input, SymIntList(to.sizes), to.scale(0), to.scale(1));
}
Tensor upsample_nearest3d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                              std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_nearest3d(input, SymIntList(to.sizes), to.scale(0), to.scale(1),
                                   to.scale(2));
}
Tensor _upsample_nearest_exact3d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                     std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_nearest_exact3d(input, SymIntList(to.sizes), to.scale(0), to.scale(1),
                                          to.scale(2));
}
Tensor upsample_linear1d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                             bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_linear1d(input, SymIntList(to.sizes), align_corners, to.scale(0));
}
Tensor upsample_bilinear2d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                               bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_bilinear2d(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                    to.scale(1));
}
Tensor upsample_trilinear3d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_trilinear3d(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                     to.scale(1), to.scale(2));
}
Tensor upsample_bicubic2d_vec(const Tensor& input, std::optional<SymIntList> output_size,
                              bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::upsample_bicubic2d(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                   to.scale(1));
}
Tensor _upsample_bilinear2d_aa_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                   bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_bilinear2d_aa(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                        to.scale(1));
}
Tensor _upsample_bicubic2d_aa_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                  bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_bicubic2d_aa(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                       to.scale(1));
}
Tensor _upsample_lanczos2d_aa_vec(const Tensor& input, std::optional<SymIntList> output_size,
                                  bool align_corners, std::optional<Span<double>> scale_factors) {
  const Resampled to(input, output_size, scale_factors);
  return taeda::_upsample_lanczos2d_aa(input, SymIntList(to.sizes), align_corners, to.scale(0),
                                       to.scale(1));
}

namespace {

// How a mode and a number of dimensions are called.
struct InterpolateCall {
  std::optional<SymIntList> size;
  std::optional<Span<double>> factors;
  bool align_corners, antialias;
};

Tensor interpolate_line(const Tensor& x, std::string_view mode, const InterpolateCall& c) {
  if (mode == "nearest") return taeda::upsample_nearest1d(x, c.size, c.factors);
  if (mode == "nearest-exact") return taeda::_upsample_nearest_exact1d(x, c.size, c.factors);
  if (mode == "area") return taeda::adaptive_avg_pool1d(x, as_int(*c.size));
  if (mode == "linear") return taeda::upsample_linear1d(x, c.size, c.align_corners, c.factors);
  return Tensor();
}

Tensor interpolate_plane(const Tensor& x, std::string_view mode, const InterpolateCall& c) {
  if (mode == "nearest") return taeda::upsample_nearest2d(x, c.size, c.factors);
  if (mode == "nearest-exact") return taeda::_upsample_nearest_exact2d(x, c.size, c.factors);
  if (mode == "area") return taeda::adaptive_avg_pool2d(x, *c.size);
  if (mode == "bilinear")
    return c.antialias ? taeda::_upsample_bilinear2d_aa(x, c.size, c.align_corners, c.factors)
                       : taeda::upsample_bilinear2d(x, c.size, c.align_corners, c.factors);
  if (mode == "bicubic")
    return c.antialias ? taeda::_upsample_bicubic2d_aa(x, c.size, c.align_corners, c.factors)
                       : taeda::upsample_bicubic2d(x, c.size, c.align_corners, c.factors);
  if (mode != "lanczos") return Tensor();
  TAEDA_CHECK_VALUE(!c.align_corners, "Lanczos mode does not support align_corners=True");
  TAEDA_CHECK_VALUE(c.antialias, "Lanczos mode requires antialias=True");
  return taeda::_upsample_lanczos2d_aa(x, c.size, c.align_corners, c.factors);
}

Tensor interpolate_volume(const Tensor& x, std::string_view mode, const InterpolateCall& c) {
  if (mode == "nearest") return taeda::upsample_nearest3d(x, c.size, c.factors);
  if (mode == "nearest-exact") return taeda::_upsample_nearest_exact3d(x, c.size, c.factors);
  if (mode == "area") return taeda::adaptive_avg_pool3d(x, *c.size);
  if (mode == "trilinear")
    return taeda::upsample_trilinear3d(x, c.size, c.align_corners, c.factors);
  return Tensor();
}

// As Python prints a tuple.
template <class Numbers>
std::string tuple_text(const Numbers& numbers) {
  std::string text;
  for (const auto& number : numbers) text += str(text.empty() ? "" : ", ", number);
  return str("(", text, numbers.size() == 1 ? ",)" : ")");
}

void check_interpolated_lengths(const Tensor& self, const std::optional<SymIntList>& size,
                                const std::optional<Span<double>>& factors) {
  const int64_t spatial = self.dim() - 2;
  const SymIntList sizes = self.sym_sizes();
  const SymIntVec last(spatial > 0 ? SymIntList(sizes.data() + 2, sizes.size() - 2) : SymIntList());
  TAEDA_CHECK_VALUE(!size || !factors, "only one of size or scale_factor should be defined");
  TAEDA_CHECK_VALUE(size || factors, "either size or scale_factor should be defined");
  TAEDA_CHECK_VALUE(
      !size || static_cast<int64_t>(size->size()) == std::max<int64_t>(spatial, 0),
      "Input and output must have the same number of spatial dimensions, but got input with "
      "spatial dimensions of ",
      SymIntList(last), " and output size of ", tuple_text(size ? *size : SymIntList()),
      ". Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
      "...,oK) format.");
  TAEDA_CHECK_VALUE(
      !factors || static_cast<int64_t>(factors->size()) == spatial,
      "Input and scale_factor must have the same number of spatial dimensions, but got input with "
      "spatial dimensions of ",
      SymIntList(last), " and scale_factor of shape ",
      tuple_text(factors ? *factors : Span<double>()),
      ". Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in "
      "(s1, s2, ...,sK) format.");
}

// The phrase for a mode of another number of dimensions.
[[noreturn]] void fail_interpolate(const Tensor& self, std::string_view mode) {
  const int64_t needed = mode == "linear"      ? 3
                         : mode == "bilinear"  ? 4
                         : mode == "trilinear" ? 5
                                               : 0;
  if (needed > 0 && self.dim() >= 3 && self.dim() <= 5)
    fail(ErrorKind::NotImplemented, "Got ", self.dim(), "D input, but ", mode, " mode needs ",
         needed, "D input");
  fail(ErrorKind::NotImplemented, "Input Error: Only 3D, 4D and 5D input Tensors supported (got ",
       self.dim(),
       "D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
       "nearest-exact (got ",
       mode, ")");
}

}  // namespace

Tensor interpolate(const Tensor& self, std::optional<SymIntList> size,
                   std::optional<Span<double>> scale_factor, std::string_view mode,
                   std::optional<bool> align_corners, std::optional<bool> recompute_scale_factor,
                   bool antialias) {
  const bool has_corners = mode != "nearest" && mode != "area" && mode != "nearest-exact";
  TAEDA_CHECK_VALUE(has_corners || !align_corners,
                    "align_corners option can only be set with the interpolating modes: linear | "
                    "bilinear | bicubic | trilinear");
  check_interpolated_lengths(self, size, scale_factor);
  bool is_recomputed = recompute_scale_factor.value_or(false);
  TAEDA_CHECK_VALUE(!is_recomputed || !size,
                    "recompute_scale_factor is not meaningful with an explicit size.");
  is_recomputed |= mode == "area" && !size;
  SymIntVec sizes;
  InterpolateCall call{size, scale_factor, align_corners.value_or(false), antialias};
  if (is_recomputed) {
    sizes = Resampled(self, size, scale_factor).sizes;
    call.size = SymIntList(sizes);
    call.factors = std::nullopt;
  }
  const bool is_wide = mode == "bilinear" || mode == "bicubic" || mode == "lanczos";
  TAEDA_CHECK_VALUE(!antialias || (is_wide && self.dim() == 4),
                    "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
                    "requires a 4-D tensor as input");
  Tensor out;
  if (self.dim() == 3) out = interpolate_line(self, mode, call);
  if (self.dim() == 4) out = interpolate_plane(self, mode, call);
  if (self.dim() == 5) out = interpolate_volume(self, mode, call);
  if (!out.defined()) fail_interpolate(self, mode);
  return out;
}

}  // namespace taeda::impl
