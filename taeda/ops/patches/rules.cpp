// Shape rules of patches, and pixels and channels in other orders.
#include "taeda/ops/functions.h"
#include "taeda/ops/patches/declarations.h"
#include "taeda/ops/patches/functions.h"
#include "taeda/ops/pooling/windows.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

// "(4, 4)"
template <class Sizes>
std::string bracketed(const Sizes& pair) {
  return str("(", pair[0], ", ", pair[1], ")");
}

void check_patch_pair(const char* op, const char* name, size_t n) {
  TAEDA_CHECK(n == 2, "It is expected ", name, " equals to 2, but got size ", n, " (", op, ")");
}

void check_patch_arguments(const char* op, IntList kernel, IntList dilation, IntList padding,
                           IntList stride) {
  check_patch_pair(op, "kernel_size", kernel.size());
  check_patch_pair(op, "dilation", dilation.size());
  check_patch_pair(op, "padding", padding.size());
  check_patch_pair(op, "stride", stride.size());
  TAEDA_CHECK(kernel[0] > 0 && kernel[1] > 0,
              "kernel size should be greater than zero, but got kernel_height: ", kernel[0],
              " kernel_width: ", kernel[1]);
  int64_t product = 0;
  TAEDA_CHECK(!__builtin_mul_overflow(kernel[0], kernel[1], &product),
              "Given kernel_width = ", kernel[1], " and kernel_height = ", kernel[0],
              " the product of kernel_width and kernel_height overflowed.");
  TAEDA_CHECK(dilation[0] > 0 && dilation[1] > 0,
              "dilation should be greater than zero, but got dilation_height: ", dilation[0],
              " dilation_width: ", dilation[1]);
  TAEDA_CHECK(padding[0] >= 0 && padding[1] >= 0,
              "padding should be non-negative, but got pad_height: ", padding[0],
              " pad_width: ", padding[1]);
  TAEDA_CHECK(stride[0] > 0 && stride[1] > 0,
              "stride should be greater than zero, but got stride_height: ", stride[0],
              " stride_width: ", stride[1]);
}

// How many patches there are along a dimension.
SymInt patch_count(const SymInt& size, int64_t d, IntList kernel, IntList dilation, IntList padding,
                   IntList stride) {
  const SymInt reach = SymInt(dilation[d]) * SymInt(kernel[d] - 1) + SymInt(1);
  return (size + SymInt(2) * SymInt(padding[d]) - reach) / SymInt(stride[d]) + SymInt(1);
}

void check_patch_dtype(const char* op, DType t) {
  const bool is_taken = (is_floating(t) && !is_float8(t)) || is_complex(t) || t == DType::Bool;
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken, "\"", op, "\" not implemented for '", t, "'");
}

void check_shuffle(const char* op, const Tensor& self, int64_t factor, const char* name) {
  TAEDA_CHECK(self.dim() >= 3, op,
              " expects input to have at least 3 dimensions, but got input "
              "with ",
              self.dim(), " dimension(s)");
  TAEDA_CHECK(factor > 0, op, " expects a positive ", name, ", but got ", factor);
}

// With the last three sizes replaced.
SymIntVec shuffled_sizes(const Tensor& self, std::initializer_list<SymInt> last) {
  SymIntVec sizes(SymIntList(self.sym_sizes().data(), static_cast<size_t>(self.dim() - 3)));
  for (const SymInt& s : last) sizes.push_back(s);
  return sizes;
}

// The dimensions in front as they are, the last five in this order.
Tensor permute_last_five(const Tensor& t, const std::array<int64_t, 5>& order) {
  IntVec dims;
  for (int64_t d = 0; d < t.dim() - 5; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(t.dim() - 5 + d);
  return t.permute(IntList(dims));
}

// A new tensor in the memory format of `like`.
Tensor shuffled(const Tensor& permuted, const SymIntVec& sizes, const Tensor& like) {
  const MemoryFormat format = like.suggested_format();
  const Tensor out =
      permuted.clone(MemoryFormat::Contiguous).view(SymIntList(sizes)).contiguous(format);
  if (format == MemoryFormat::Contiguous) return out;
  // The strides of one channel say the format, too.
  return out.as_strided(out.sym_sizes(), channels_last_strides(out.sym_sizes()));
}

}  // namespace

OutSpec im2col_spec(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding,
                    IntList stride) {
  check_patch_arguments("im2col", kernel_size, dilation, padding, stride);
  const int64_t ndim = self.dim();
  if (ndim < 3) wrap_dim(ndim, ndim, /*wrap_scalar=*/false);
  bool is_valid = ndim == 3 || ndim == 4;
  for (int64_t d = ndim == 4 ? 1 : 0; is_valid && d < ndim; ++d)
    is_valid = self.sym_size(d) != SymInt(0);
  TAEDA_CHECK(is_valid,
              "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
              "dimensions for input, but got: ",
              self.sym_sizes());
  const auto count = [&](int64_t d) {
    return patch_count(self.sym_size(ndim - 2 + d), d, kernel_size, dilation, padding, stride);
  };
  const SymInt high = count(0), wide = count(1);
  TAEDA_CHECK(high >= SymInt(1) && wide >= SymInt(1), "Given input with spatial size ",
              bracketed(last_sizes(self, 2)), ", kernel_size=", bracketed(kernel_size),
              ", dilation=", bracketed(dilation), ", padding=", bracketed(padding),
              ", calculated shape of the array of sliding blocks as (", high, ", ", wide,
              "), but its components must be at least one.");
  check_patch_dtype("im2col_out_cpu", self.dtype());
  SymIntVec sizes;
  if (ndim == 4) sizes.push_back(self.sym_size(0));
  sizes.push_back(self.sym_size(ndim - 3) * SymInt(kernel_size[0] * kernel_size[1]));
  sizes.push_back(high * wide);
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

OutSpec col2im_spec(const Tensor& self, SymIntList output_size, IntList kernel_size,
                    IntList dilation, IntList padding, IntList stride) {
  check_patch_pair("col2im", "output_size", output_size.size());
  check_patch_arguments("col2im", kernel_size, dilation, padding, stride);
  const int64_t ndim = self.dim();
  bool is_valid = ndim == 2 || ndim == 3;
  for (int64_t d = ndim == 3 ? 1 : 0; is_valid && d < ndim; ++d)
    is_valid = self.sym_size(d) != SymInt(0);
  TAEDA_CHECK(is_valid,
              "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
              "non-zero dimensions for input, but got: ",
              self.sym_sizes());
  const SymInt per_place(kernel_size[0] * kernel_size[1]);
  const SymInt columns = self.sym_size(ndim - 2), length = self.sym_size(ndim - 1);
  TAEDA_CHECK(columns % per_place == SymInt(0),
              "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
              "but got input.size(1)=",
              columns, " and kernel_size=", bracketed(kernel_size), ".");
  const SymInt high = patch_count(output_size[0], 0, kernel_size, dilation, padding, stride),
               wide = patch_count(output_size[1], 1, kernel_size, dilation, padding, stride);
  TAEDA_CHECK(length == high * wide, "Given output_size=", bracketed(output_size),
              ", kernel_size=", bracketed(kernel_size), ", dilation=", bracketed(dilation),
              ", padding=", bracketed(padding), ", stride=", bracketed(stride),
              ", expected size of input's dimension 2 to match the calculated number of sliding "
              "blocks ",
              high, " * ", wide, " = ", high * wide, ", but got input.size(2)=", length, ".");
  TAEDA_CHECK(high >= SymInt(1) && wide >= SymInt(1), "Given output_size=", bracketed(output_size),
              ", kernel_size=", bracketed(kernel_size), ", dilation=", bracketed(dilation),
              ", padding=", bracketed(padding), ", stride=", bracketed(stride),
              ", calculated shape of the array of sliding blocks as (", high, ", ", wide,
              "), which is too small (non-positive)");
  TAEDA_CHECK(output_size[0] >= SymInt(1) && output_size[1] >= SymInt(1),
              "Expected output spatial size to be positive, but got: output_size=",
              bracketed(output_size), ".");
  check_patch_dtype("col2im_out_cpu", self.dtype());
  SymIntVec sizes;
  if (ndim == 3) sizes.push_back(self.sym_size(0));
  sizes.push_back(columns / per_place);
  sizes.push_back(output_size[0]);
  sizes.push_back(output_size[1]);
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  check_shuffle("pixel_shuffle", self, upscale_factor, "upscale_factor");
  int64_t square;
  TAEDA_CHECK_VALUE(!__builtin_mul_overflow(upscale_factor, upscale_factor, &square),
                    "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=",
                    upscale_factor);
  const SymInt f(upscale_factor), channels = self.sym_size(-3), h = self.sym_size(-2),
                                  w = self.sym_size(-1);
  TAEDA_CHECK(channels % (f * f) == SymInt(0),
              "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
              "of upscale_factor, but input.size(-3)=",
              channels, " is not divisible by ", f * f);
  const SymInt kept = channels / (f * f);
  SymIntVec apart = shuffled_sizes(self, {kept, f, f, h, w});
  const Tensor permuted = permute_last_five(self.reshape(SymIntList(apart)), {0, 3, 1, 4, 2});
  return shuffled(permuted, shuffled_sizes(self, {kept, h * f, w * f}), self);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  check_shuffle("pixel_unshuffle", self, downscale_factor, "downscale_factor");
  const SymInt f(downscale_factor), channels = self.sym_size(-3), h = self.sym_size(-2),
                                    w = self.sym_size(-1);
  TAEDA_CHECK(h % f == SymInt(0),
              "pixel_unshuffle expects height to be divisible by downscale_factor, but "
              "input.size(-2)=",
              h, " is not divisible by ", f);
  TAEDA_CHECK(w % f == SymInt(0),
              "pixel_unshuffle expects width to be divisible by downscale_factor, but "
              "input.size(-1)=",
              w, " is not divisible by ", f);
  SymIntVec apart = shuffled_sizes(self, {channels, h / f, f, w / f, f});
  const Tensor permuted = permute_last_five(self.reshape(SymIntList(apart)), {0, 2, 4, 1, 3});
  return shuffled(permuted, shuffled_sizes(self, {channels * f * f, h / f, w / f}), self);
}

namespace {

void check_channel_groups(const Tensor& self, const SymInt& groups) {
  TAEDA_CHECK(self.dim() > 2,
              "channel_shuffle expects input with > 2 dims, but got input with sizes ",
              self.sym_sizes());
  TAEDA_CHECK(groups > SymInt(0),
              "Number of groups to divide channels in must be positive. Value of groups:", groups);
  TAEDA_CHECK(self.sym_size(1) % groups == SymInt(0),
              "Number of channels must be divisible by groups. Got ", self.sym_size(1),
              " channels and ", groups, " groups.");
}

}  // namespace

Tensor native_channel_shuffle(const Tensor& self, SymInt groups) {
  check_channel_groups(self, groups);
  const SymInt channels = self.sym_size(1);
  const Tensor apart = self.unflatten(1, {groups, channels / groups}).transpose(1, 2);
  return apart.clone(MemoryFormat::Contiguous)
      .view(self.sym_sizes())
      .contiguous(self.suggested_format());
}

Tensor channel_shuffle(const Tensor& self, SymInt groups) {
  check_channel_groups(self, groups);
  if (self.sym_numel() == SymInt(0)) return taeda::alias(self);
  return taeda::native_channel_shuffle(self, groups);
}

}  // namespace taeda::impl
