// Shape rules of borders, and the modes of `pad`.
#include <algorithm>

#include "taeda/core/unbacked.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/padding/declarations.h"
#include "taeda/ops/padding/functions.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {
namespace {

// With the memory format of `self`.
OutSpec bordered_spec(const Tensor& self, const SymIntVec& sizes) {
  OutSpec spec(SymIntList(sizes), self.dtype(), self.device());
  if (self.suggested_format() != MemoryFormat::Contiguous)
    spec.strides = channels_last_strides(sizes);
  return spec;
}

// The sizes with their borders, which are given from the last dimension on.
// A size beyond what 64 bits hold is -1, which is refused as negative ones are.
SymIntVec bordered_sizes(const Tensor& self, SymIntList padding) {
  SymIntVec sizes(self.sym_sizes());
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    SymInt& size = sizes[sizes.size() - 1 - i];
    if (!add_within_limits(size, padding[2 * i]) || !add_within_limits(size, padding[2 * i + 1]))
      size = SymInt(-1);
  }
  return sizes;
}

void check_border_input(const Tensor& self, SymIntList padding, int64_t spatial) {
  TAEDA_CHECK(static_cast<int64_t>(padding.size()) == 2 * spatial,
              "padding size is expected to be ", 2 * spatial, ", but got: ", padding.size());
  const int64_t ndim = self.dim();
  bool is_valid = ndim == spatial + 1 || ndim == spatial + 2;
  for (int64_t d = ndim == spatial + 2 ? 1 : 0; is_valid && d < ndim; ++d)
    is_valid = expect(SymOp::Ne, self.sym_size(d), 0);
  TAEDA_CHECK(is_valid, "Expected ", spatial + 1, "D or ", spatial + 2,
              "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
              "input, but got: ",
              self.sym_sizes());
}

// A mirror image holds less than the tensor.
void check_reflection(const Tensor& self, SymIntList padding) {
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - static_cast<int64_t>(i);
    TAEDA_CHECK(expect(SymOp::Lt, padding[2 * i], self.sym_size(d)) &&
                    expect(SymOp::Lt, padding[2 * i + 1], self.sym_size(d)),
                "Argument #", 4 + 2 * i,
                ": Padding size should be less than the corresponding input dimension, but got: "
                "padding (",
                padding[2 * i], ", ", padding[2 * i + 1], ") at dimension ", d, " of input ",
                self.sym_sizes());
  }
}

void check_border_dtype(const char* op, DType t, bool takes_integers) {
  const bool is_integer = !is_floating(t) && !is_complex(t) && t != DType::Bool;
  const bool is_taken = (is_floating(t) && !is_float8(t)) || is_complex(t);
  TAEDA_CHECK_NOT_IMPLEMENTED(is_taken || (takes_integers && is_integer), "\"", op,
                              "\" not implemented for '", t, "'");
}

// "H: 3, W: 4": the last sizes by their names.
std::string named(SymIntList sizes, int64_t spatial, const char* between) {
  static constexpr const char* kNames[] = {"D: ", "H: ", "W: "};
  std::string text;
  for (int64_t d = 3 - spatial; d < 3; ++d)
    text += str(text.empty() ? "" : between, kNames[d], sizes[sizes.size() - 3 + d]);
  return text;
}

OutSpec border_spec(const char* op, const Tensor& self, SymIntList padding, int64_t spatial,
                    bool is_reflected) {
  check_border_input(self, padding, spatial);
  if (is_reflected) check_reflection(self, padding);
  const SymIntVec sizes = bordered_sizes(self, padding);
  for (int64_t d = self.dim() - spatial; d < self.dim(); ++d)
    TAEDA_CHECK(expect(SymOp::Ge, sizes[d], 1), "input (", named(self.sym_sizes(), spatial, ", "),
                ") is too small. Calculated output ", named(sizes, spatial, " "));
  check_border_dtype(op, self.dtype(), true);
  return bordered_spec(self, sizes);
}

OutSpec border_backward_spec(const char* op, const Tensor& grad_output, const Tensor& self,
                             SymIntList padding, int64_t spatial, bool is_reflected) {
  check_border_input(self, padding, spatial);
  if (is_reflected) check_reflection(self, padding);
  const SymIntVec sizes = bordered_sizes(self, padding);
  TAEDA_CHECK(grad_output.sym_sizes() == SymIntList(sizes),
              "grad_output size unexpected. Expected: ", SymIntList(sizes),
              ", Got: ", grad_output.sym_sizes());
  check_border_dtype(op, self.dtype(), false);
  return bordered_spec(self, SymIntVec(self.sym_sizes()));
}

// Numbered as in PyTorch.
enum PadMode : int64_t { kReflect, kReplicate, kCircular, kConstant };
constexpr std::string_view kPadModes[] = {"reflect", "replicate", "circular", "constant"};

Tensor mirrored(const Tensor& self, SymIntList pad) {
  return pad.size() == 2   ? taeda::reflection_pad1d(self, pad)
         : pad.size() == 4 ? taeda::reflection_pad2d(self, pad)
                           : taeda::reflection_pad3d(self, pad);
}
Tensor replicated(const Tensor& self, SymIntList pad) {
  return pad.size() == 2   ? taeda::replication_pad1d(self, pad)
         : pad.size() == 4 ? taeda::replication_pad2d(self, pad)
                           : taeda::replication_pad3d(self, pad);
}

}  // namespace

OutSpec constant_pad_nd_spec(const Tensor& self, SymIntList pad, const Scalar&) {
  TAEDA_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  TAEDA_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(),
              "Length of pad should be no more than twice the number of dimensions of the input. "
              "Pad length is ",
              pad.size(), "while the input has ", self.dim(), "dimensions.");
  const SymIntVec sizes = bordered_sizes(self, pad);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = sizes.size() - 1 - i;
    TAEDA_CHECK(sizes[d] >= SymInt(0), "The input size ", self.sym_size(static_cast<int64_t>(d)),
                ", plus negative padding ", pad[2 * i], " and ", pad[2 * i + 1],
                " resulted in a negative output size, which is invalid. Check dimension ", d,
                " of your input.");
  }
  OutSpec spec = bordered_spec(self, sizes);
  // Of a contiguous tensor the strides are the same either way: whether a symbol is 0 is not asked.
  const auto is_symbol = [](const SymInt& p) { return p.is_symbolic(); };
  if (std::any_of(pad.begin(), pad.end(), is_symbol) && self.is_contiguous()) return spec;
  bool has_border = false;
  for (const SymInt& p : pad) has_border |= p > SymInt(0);
  if (has_border) return spec;
  // A copy of a part keeps the order of its memory.
  const Tensor* const inputs[] = {&self};
  spec.strides = strides_in_order(inputs, sizes);
  return spec;
}

OutSpec reflection_pad1d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("reflection_pad1d", self, padding, 1, true);
}
OutSpec reflection_pad2d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("reflection_pad2d", self, padding, 2, true);
}
OutSpec reflection_pad3d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("reflection_pad3d", self, padding, 3, true);
}
OutSpec replication_pad1d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("replication_pad1d", self, padding, 1, false);
}
OutSpec replication_pad2d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("replication_pad2d", self, padding, 2, false);
}
OutSpec replication_pad3d_spec(const Tensor& self, SymIntList padding) {
  return border_spec("replication_pad3d", self, padding, 3, false);
}
OutSpec reflection_pad1d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                       SymIntList padding) {
  return border_backward_spec("reflection_pad1d_backward", grad_output, self, padding, 1, true);
}
OutSpec reflection_pad2d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                       SymIntList padding) {
  return border_backward_spec("reflection_pad2d_backward", grad_output, self, padding, 2, true);
}
OutSpec reflection_pad3d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                       SymIntList padding) {
  return border_backward_spec("reflection_pad3d_backward", grad_output, self, padding, 3, true);
}
OutSpec replication_pad1d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                        SymIntList padding) {
  return border_backward_spec("replication_pad1d_backward", grad_output, self, padding, 1, false);
}
OutSpec replication_pad2d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                        SymIntList padding) {
  return border_backward_spec("replication_pad2d_backward", grad_output, self, padding, 2, false);
}
OutSpec replication_pad3d_backward_spec(const Tensor& grad_output, const Tensor& self,
                                        SymIntList padding) {
  return border_backward_spec("replication_pad3d_backward", grad_output, self, padding, 3, false);
}

Tensor _pad_circular(const Tensor& self, SymIntList pad) {
  const int64_t ndim = self.dim(), padded = static_cast<int64_t>(pad.size() / 2);
  TAEDA_CHECK(ndim - padded == 1 || ndim - padded == 2,
              "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be "
              "equivalent to padding of length ",
              (ndim - 1) * 2, " or ", (ndim - 2) * 2, " respectively but got ", pad.size());
  for (int64_t i = 0; i < padded; ++i) {
    const SymInt size = self.sym_size(ndim - 1 - i);
    TAEDA_CHECK(pad[2 * i] <= size && pad[2 * i + 1] <= size,
                "Padding value causes wrapping around more than once.");
    TAEDA_CHECK(size + pad[2 * i] + pad[2 * i + 1] >= SymInt(0),
                "Negative padding value is resulting in an empty dimension");
  }
  // Joined as they are: PyTorch copies the parts, which autocast leaves alone.
  const ExcludeKeys below(KeySet(Key::Autocast));
  Tensor out = self.contiguous();
  const SymInt none = 0;
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t d = ndim - 1 - i;
    const SymInt &before = pad[2 * i], &after = pad[2 * i + 1];
    // What is left of the tensor continues around it.
    const SymInt cut = sym_max(none, -before), size = out.sym_size(d);
    const SymInt kept = size - cut - sym_max(none, -after);
    TAEDA_CHECK(before <= kept && after <= kept,
                "Padding value causes wrapping around more than once.");
    const Tensor middle = out.narrow(d, cut, kept);
    std::vector<Tensor> parts;
    if (before > none) parts.push_back(middle.narrow(d, kept - before, before));
    parts.push_back(middle);
    if (after > none) parts.push_back(middle.narrow(d, none, after));
    out = parts.size() == 1 ? middle : taeda::cat(parts, d);
  }
  return out.is_same(self) || out.is_view() ? out.clone(MemoryFormat::Contiguous) : out;
}

Tensor _pad_enum(const Tensor& self, SymIntList pad, int64_t mode, std::optional<double> value) {
  TAEDA_CHECK(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  TAEDA_CHECK(static_cast<int64_t>(pad.size()) <= 2 * self.dim(),
              "Padding length should be less than or equal to two times the input dimension but "
              "got padding length ",
              pad.size(), " and input of dimension ", self.dim());
  TAEDA_CHECK(mode >= kReflect && mode <= kConstant, "Invalid padding mode (", mode, ")");
  if (mode == kConstant) return taeda::constant_pad_nd(self, pad, Scalar(value.value_or(0)));
  TAEDA_CHECK(!value || *value == 0, "Padding mode \"", kPadModes[mode],
              "\" doesn't take in value argument");
  const int64_t spatial = static_cast<int64_t>(pad.size() / 2);
  TAEDA_CHECK_NOT_IMPLEMENTED(
      spatial >= 1 && spatial <= 3 && (self.dim() == spatial + 1 || self.dim() == spatial + 2),
      "Padding size ", pad.size(), " is not supported for ", self.dim(), "D input tensor.\n",
      "Supported combinations for non-constant padding:\n"
      "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
      "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
      "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)");
  if (mode == kReflect) return mirrored(self, pad);
  return mode == kReplicate ? replicated(self, pad) : taeda::_pad_circular(self, pad);
}

Tensor pad(const Tensor& self, SymIntList pad, std::string_view mode, std::optional<double> value) {
  for (int64_t m = kReflect; m <= kConstant; ++m)
    if (mode == kPadModes[m]) return taeda::_pad_enum(self, pad, m, value);
  fail(ErrorKind::NotImplemented, "Unrecognised padding mode ", mode);
}

}  // namespace taeda::impl
