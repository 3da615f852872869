// Views of other shapes: sizes, strides and offset of an alias; the same code for every device.
#include "taeda/ops/view/declarations.h"

#include "taeda/core/unbacked.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/options.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"
#include "taeda/ops/spec.h"
#include "taeda/ops/view/strides.h"

namespace taeda {
namespace {

// What is asked of numbers that only data tells: an answer for the general case, in which numbers
// differ and sizes are large, or the answer of a run, which is an error where there is none.
enum class Unknown : uint8_t { General, Asked };

std::optional<SymIntVec> find_strides(SymIntList old_sizes, SymIntList old_strides,
                                      SymIntList sizes, Unknown unknown) {
  const auto is = [unknown](const SymInt& a, SymOp op, const SymInt& b) {
    if (unknown == Unknown::Asked) return holds(op, a, b);
    return known(op, a, b).value_or(op != SymOp::Eq);
  };
  SymInt numel = 1;
  for (const SymInt& s : old_sizes) numel *= s;
  if (is(numel, SymOp::Eq, 0)) return contiguous_strides(sizes);
  SymIntVec out(sizes.size());
  int64_t at = static_cast<int64_t>(sizes.size()) - 1;
  // Walks runs of old dimensions that are contiguous among themselves and fills new ones from the
  // right.
  SymInt run = 1, filled = 1, base = old_strides.empty() ? SymInt(1) : old_strides.back();
  for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; --d) {
    run *= old_sizes[d];
    const bool ends_run = d == 0 || (is(old_sizes[d - 1], SymOp::Ne, 1) &&
                                     is(old_strides[d - 1], SymOp::Ne, run * base));
    if (!ends_run) continue;
    while (at >= 0 && (is(filled, SymOp::Lt, run) || is(sizes[at], SymOp::Eq, 1))) {
      out[at] = filled * base;
      filled *= sizes[at];
      --at;
    }
    if (is(filled, SymOp::Ne, run)) return std::nullopt;
    if (d > 0) {
      base = old_strides[d - 1];
      run = 1;
      filled = 1;
    }
  }
  if (at >= 0 && old_sizes.empty())
    for (; at >= 0; --at) out[at] = 1;
  return at < 0 ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<SymIntVec> view_strides(SymIntList old_sizes, SymIntList old_strides,
                                      SymIntList sizes) {
  return find_strides(old_sizes, old_strides, sizes, Unknown::General);
}

namespace impl {
namespace {

Tensor restride(const Tensor& self, SymIntList sizes, SymIntList strides) {
  return make_alias_sym(self, sizes, strides, self.impl()->sym_storage_offset());
}

// Whether the elements lie in one run, in order, for a tensor of which that does not follow. Where
// only data tells, guesses do, and what they say is stated.
bool lies_in_one_run(const Tensor& self) {
  const SymIntList sizes = self.sym_sizes(), strides = self.sym_strides();
  SymIntVec expected(sizes.size());
  SymInt running = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    expected[i] = running;
    if (!is_known(SymOp::Eq, sizes[i], 1) && !is_likely(SymOp::Eq, strides[i], running))
      return false;
    running *= sizes[i];
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!is_known(SymOp::Eq, sizes[i], 1)) expect(SymOp::Eq, strides[i], expected[i]);
  return true;
}

// As Python prints a tuple: "(84,)", "(2, 42)".
std::string tuple_text(SymIntList values) {
  std::string text = str(values);
  text.front() = '(';
  text.back() = ')';
  return values.size() == 1 ? text.insert(text.size() - 1, ",") : text;
}

// Tensors that only show a shape have another error than those with memory, as in PyTorch.
[[noreturn]] void refuse_view(const Tensor& self, SymIntList sizes) {
  if (self.keys().has(Key::Fake))
    fail(ErrorKind::Value, "Cannot view a tensor with shape torch.Size(", self.sym_sizes(),
         ") and strides ", tuple_text(self.sym_strides()), " as a tensor with shape ",
         tuple_text(sizes), "!");
  fail(ErrorKind::Runtime,
       "view size is not compatible with input tensor's size and stride (at least one "
       "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

}  // namespace

Tensor view(const Tensor& self, SymIntList size) {
  const SymIntVec sizes = infer_size(size, self.sym_numel());
  // A last dimension of size one may have any stride, which the view then keeps.
  if (self.is_contiguous() && (self.dim() == 0 || self.sym_strides().back() == SymInt(1)))
    return restride(self, sizes, contiguous_strides(sizes));
  auto strides = view_strides(self.sym_sizes(), self.sym_strides(), sizes);
  if (!strides && self.impl()->has_symbolic_sizes()) {
    if (lies_in_one_run(self)) return restride(self, sizes, contiguous_strides(sizes));
    strides = find_strides(self.sym_sizes(), self.sym_strides(), sizes, Unknown::Asked);
  }
  if (!strides) refuse_view(self, sizes);
  return restride(self, sizes, *strides);
}

namespace {

// Whether somebody watches operators or stands in for the tensor; they are shown `view` alone.
bool is_watched(const Tensor& t) {
  constexpr KeySet watchers = KeySet(Key::Fake) | KeySet(Key::TransformFront) |
                              KeySet(Key::TransformBack) | KeySet(Key::Python) |
                              KeySet(Key::Functionalize);
  return !((t.keys() | local_keys().include) & watchers).empty();
}

}  // namespace

Tensor _unsafe_view(const Tensor& self, SymIntList size) {
  return is_watched(self) ? self.view(size) : impl::view(self, size);
}

Tensor _reshape_alias(const Tensor& self, SymIntList size, SymIntList stride) {
  return restride(self, size, stride);
}

Tensor reshape(const Tensor& self, SymIntList shape) {
  const SymIntVec sizes = infer_size(shape, self.sym_numel());
  if (self.is_contiguous()) return self.view(sizes);
  const auto strides = view_strides(self.sym_sizes(), self.sym_strides(), sizes);
  if (!strides) return taeda::_unsafe_view(self.clone(MemoryFormat::Contiguous), sizes);
  return is_watched(self) ? self.view(sizes) : taeda::_reshape_alias(self, sizes, *strides);
}

Tensor as_strided(const Tensor& self, SymIntList size, SymIntList stride,
                  std::optional<SymInt> storage_offset) {
  TAEDA_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape");
  for (const SymInt& s : stride)
    TAEDA_CHECK(
        s >= SymInt(0),
        "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
  for (const SymInt& s : size)
    TAEDA_CHECK(s >= SymInt(0), "Storage size calculation overflowed with sizes=", size,
                " and strides=", stride);
  const SymInt offset = storage_offset.value_or(self.impl()->sym_storage_offset());
  TAEDA_CHECK(offset >= SymInt(0), "Tensor: invalid storage offset ", offset);
  // How much memory a tensor of symbolic sizes has is not known, nor what a part of one has.
  const bool is_part_of_symbolic =
      self.impl()->has_symbolic_sizes() ||
      (self.is_meta() && self.storage()->nbytes() == 0 && self.numel() > 0);
  if (!has_symbolic(size) && !has_symbolic(stride) && !offset.is_symbolic() &&
      !is_part_of_symbolic) {
    const int64_t needed =
        storage_bytes(as_int(size), as_int(stride), offset.expect_int(), self.dtype());
    TAEDA_CHECK(needed <= static_cast<int64_t>(self.storage()->nbytes()), "setStorage: sizes ",
                size, ", strides ", stride, ", storage offset ", offset, ", and itemsize ",
                self.element_size(), " requiring a storage size of ", needed,
                " are out of bounds for storage of size ", self.storage()->nbytes());
  }
  return make_alias_sym(self, size, stride, offset);
}

namespace {

// "torch.DoubleTensor", and "CPUBFloat16Type" for dtypes younger than those names.
std::string type_text(const Tensor& t) {
  const bool is_young = t.is_complex() || t.dtype() == DType::BFloat16;
  return is_young ? str("CPU", t.dtype(), "Type") : str("torch.", t.dtype(), "Tensor");
}

}  // namespace

Tensor expand(const Tensor& self, SymIntList size, bool) {
  const SymIntList own = self.sym_sizes(), own_strides = self.sym_strides();
  TAEDA_CHECK(size.size() >= own.size(), "expand(", type_text(self), "{", own, "}, size=", size,
              "): the number of sizes provided (", size.size(),
              ") must be greater or equal to the number of dimensions in the tensor (", own.size(),
              ")");
  SymIntVec sizes(size), strides(size.size());
  const size_t shift = size.size() - own.size();
  for (size_t i = size.size(); i-- > 0;) {
    if (i < shift) {
      TAEDA_CHECK(size[i] >= SymInt(0), "The expanded size of the tensor (", size[i],
                  ") isn't allowed in a leading, non-existing dimension ", i);
      // Of one element it is what unsqueeze would add.
      const bool is_one = !own.empty() && is_known(SymOp::Eq, size[i], 1);
      strides[i] = is_one ? sizes[i + 1] * strides[i + 1] : SymInt(0);
      continue;
    }
    const SymInt& have = own[i - shift];
    if (size[i] == SymInt(-1)) sizes[i] = have;
    strides[i] = own_strides[i - shift];
    if (sizes[i] == have) continue;
    TAEDA_CHECK(have == SymInt(1) && sizes[i] >= SymInt(0), "The expanded size of the tensor (",
                sizes[i], ") must match the existing size (", have, ") at non-singleton dimension ",
                i, ".  Target sizes: ", size, ".  Tensor sizes: ", own);
    strides[i] = 0;
  }
  return restride(self, sizes, strides);
}

Tensor detach(const Tensor& self) { return restride(self, self.sym_sizes(), self.sym_strides()); }

Tensor alias(const Tensor& self) { return restride(self, self.sym_sizes(), self.sym_strides()); }

Tensor view_dtype(const Tensor& self, DType dtype) {
  const DType old = self.dtype();
  if (dtype == old) return restride(self, self.sym_sizes(), self.sym_strides());
  TAEDA_CHECK(!self.is_conj(),
              "torch.Tensor.view is not supported for conjugate view tensors when converting to a "
              "different dtype.");
  TAEDA_CHECK(!self.is_neg(),
              "torch.Tensor.view is not supported for tensors with negative bit set when "
              "converting to a different dtype.");
  const int64_t from = item_size(old), to = item_size(dtype);
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  SymInt offset = self.impl()->sym_storage_offset();
  if (from != to) {
    const std::string_view why = " (different element sizes)";
    TAEDA_CHECK(self.dim() != 0, "self.dim() cannot be 0 to view ", old, " as ", dtype, why);
    TAEDA_CHECK(strides.back() == SymInt(1), "self.stride(-1) must be 1 to view ", old, " as ",
                dtype, why, ", but got ", strides.back());
  }
  if (from > to) {
    const SymInt ratio = from / to;
    for (SymInt& s : strides) s = s * ratio;
    strides.back() = 1;
    sizes.back() = sizes.back() * ratio;
    offset = offset * ratio;
  } else if (from < to) {
    const int64_t ratio = to / from;
    TAEDA_CHECK(sizes.back() % SymInt(ratio) == SymInt(0), "self.size(-1) must be divisible by ",
                ratio, " to view ", old, " as ", dtype, " (different element sizes), but got ",
                sizes.back());
    TAEDA_CHECK(offset % SymInt(ratio) == SymInt(0), "self.storage_offset() must be divisible by ",
                ratio, " to view ", old, " as ", dtype, " (different element sizes), but got ",
                offset);
    for (size_t i = 0; i + 1 < strides.size(); ++i) {
      TAEDA_CHECK(strides[i] % SymInt(ratio) == SymInt(0), "self.stride(", i,
                  ") must be divisible by ", ratio, " to view ", old, " as ", dtype,
                  " (different element sizes), but got ", strides[i]);
      strides[i] = strides[i] / SymInt(ratio);
    }
    sizes.back() = sizes.back() / SymInt(ratio);
    offset = offset / SymInt(ratio);
  }
  Tensor out = make_alias_sym(self, sizes, strides, offset);
  out.impl()->set_dtype(dtype);
  return out;
}

Tensor view_as(const Tensor& self, const Tensor& other) { return self.view(other.sym_sizes()); }
Tensor reshape_as(const Tensor& self, const Tensor& other) {
  return self.reshape(other.sym_sizes());
}

Tensor flatten_using_ints(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  start_dim = wrap_dim(start_dim, self.dim());
  end_dim = wrap_dim(end_dim, self.dim());
  TAEDA_CHECK(start_dim <= end_dim,
              "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) return self.reshape({SymInt(1)});
  if (start_dim == end_dim) return self;
  SymIntVec shape;
  SymInt merged = 1;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i >= start_dim && i <= end_dim) merged *= self.sym_sizes()[i];
    if (i < start_dim || i > end_dim)
      shape.push_back(self.sym_sizes()[i]);
    else if (i == end_dim)
      shape.push_back(merged);
  }
  return self.reshape(shape);
}

Tensor unflatten_int(const Tensor& self, int64_t dim, SymIntList sizes) {
  dim = wrap_dim(dim, self.dim());
  TAEDA_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  SymInt known = 1;
  int64_t unknown = -1;
  bool is_within_limits = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != SymInt(-1)) {
      is_within_limits = is_within_limits && multiply_within_limits(known, sizes[i]);
      continue;
    }
    TAEDA_CHECK(unknown < 0, "only one dimension can be inferred");
    unknown = static_cast<int64_t>(i);
  }
  const SymInt whole = self.dim() ? self.sym_sizes()[dim] : SymInt(1);
  const bool fits = unknown < 0 ? known == whole : known != SymInt(0) && whole % known == SymInt(0);
  TAEDA_CHECK(is_within_limits && fits, "unflatten: Provided sizes ", sizes,
              " don't multiply up to the size of dim ", dim, " (", whole, ") in the input tensor");
  SymIntVec shape;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != dim) {
      shape.push_back(self.sym_sizes()[i]);
      continue;
    }
    for (size_t k = 0; k < sizes.size(); ++k)
      shape.push_back(static_cast<int64_t>(k) == unknown ? whole / known : sizes[k]);
  }
  return self.view(shape);
}

Tensor ravel(const Tensor& self) { return self.contiguous().view({SymInt(-1)}); }

Tensor expand_as(const Tensor& self, const Tensor& other) { return self.expand(other.sym_sizes()); }
Tensor broadcast_to(const Tensor& self, SymIntList size) { return self.expand(size); }

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  SymIntVec shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sym_sizes());
  std::vector<Tensor> out;
  for (const Tensor& t : tensors)
    out.push_back(t.sym_sizes() == SymIntList(shape) ? t : t.expand(shape));
  return out;
}

namespace {

Tensor squeeze_bits(const Tensor& self, uint64_t bits) {
  SymIntVec sizes, strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (bits >> i & 1 && self.sym_sizes()[i] == SymInt(1)) continue;
    sizes.push_back(self.sym_sizes()[i]);
    strides.push_back(self.sym_strides()[i]);
  }
  return restride(self, sizes, strides);
}

}  // namespace

Tensor squeeze(const Tensor& self) { return squeeze_bits(self, ~0ULL); }
Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  return squeeze_bits(self, 1ULL << wrap_dim(dim, self.dim()));
}
Tensor squeeze_dims(const Tensor& self, IntList dim) {
  return squeeze_bits(self, dim_bitset(dim, self.dim(), false));
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim() + 1);
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  const SymInt stride = dim >= self.dim() ? SymInt(1) : sizes[dim] * strides[dim];
  sizes.insert(dim, SymInt(1));
  strides.insert(dim, stride);
  return restride(self, sizes, strides);
}

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? self.reshape({SymInt(1)}) : self; }
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return self.reshape({SymInt(1), SymInt(1)});
  return self.dim() == 1 ? self.unsqueeze(0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return self.reshape({SymInt(1), SymInt(1), SymInt(1)});
  if (self.dim() == 1) return self.unsqueeze(0).unsqueeze(-1);
  return self.dim() == 2 ? self.unsqueeze(-1) : self;
}

namespace {

std::vector<Tensor> each(TensorList tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

}  // namespace

std::vector<Tensor> atleast_1d_Sequence(TensorList tensors) { return each(tensors, &atleast_1d); }
std::vector<Tensor> atleast_2d_Sequence(TensorList tensors) { return each(tensors, &atleast_2d); }
std::vector<Tensor> atleast_3d_Sequence(TensorList tensors) { return each(tensors, &atleast_3d); }

namespace {

// Whether a mode took the resizing of a tensor, which is no composition of other operators.
bool is_resized_by_mode(Tensor& self, SymIntList size, std::optional<MemoryFormat> format) {
  if (dispatch::modes().empty()) return false;
  dispatch::Stack stack{dispatch::Value(self),
                        dispatch::Value(std::vector<SymInt>(size.begin(), size.end())),
                        format ? dispatch::Value(*format) : dispatch::Value()};
  return dispatch::offer_whole(*dispatch::find_operator("resize_"), stack);
}

}  // namespace

Tensor& resize_(Tensor& self, SymIntList size, std::optional<MemoryFormat> memory_format) {
  TAEDA_CHECK(!dispatch::wrapper_of(self),
              "resize_ is not supported by function transforms (vmap, grad, functionalize): a "
              "tensor of theirs stands for a value, whose memory cannot be changed");
  if (is_resized_by_mode(self, size, memory_format)) return self;
  TAEDA_CHECK(!self.impl()->requires_grad_flag(), "cannot resize variables that require grad");
  for (const SymInt& s : size)
    TAEDA_CHECK(s >= SymInt(0), "Trying to create tensor with negative dimension ", s, ": ", size);
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  TAEDA_CHECK(format != MemoryFormat::Preserve, "Unsupported memory format",
              memory_format_name(format));
  if (format != MemoryFormat::Contiguous) {
    const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
    TAEDA_CHECK(size.size() == rank, "required rank ", rank, " tensor to use ",
                memory_format_name(format), " format");
  }
  const auto written = static_cast<int64_t>(self.storage()->nbytes()) / self.element_size();
  const bool has_new_sizes = self.sym_sizes() != size;
  if (has_new_sizes) resize_to(self, size);
  if (memory_format) {
    // Sizes that stay may have had strides of 0 on less memory.
    if (!self.impl()->has_symbolic_sizes()) reserve_dense(self, self.sizes());
    const SymIntVec strides =
        format == MemoryFormat::Contiguous ? contiguous_strides(size) : channels_last_strides(size);
    self.impl()->set_sym_geometry(size, strides, self.impl()->sym_storage_offset());
  }
  fill_unwritten(self, written);
  if (has_new_sizes && self.impl()->has_version_counter()) self.impl()->bump_version();
  return self;
}

Tensor& resize_as_(Tensor& self, const Tensor& the_template,
                   std::optional<MemoryFormat> memory_format) {
  self.resize_(the_template.sym_sizes());
  if (!memory_format) return self;
  const MemoryFormat format =
      *memory_format == MemoryFormat::Preserve ? the_template.suggested_format() : *memory_format;
  return self.resize_(the_template.sym_sizes(), format);
}

}  // namespace impl
}  // namespace taeda
