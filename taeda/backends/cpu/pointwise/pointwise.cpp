// The one driver of pointwise kernels: strides, broadcasting, dtype conversion and threads around
// tiles.
#include "taeda/backends/cpu/pointwise/pointwise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/backends/cpu/pointwise/numbers.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/number_range.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kTileBytes = 8192;  // of one operand: all operands of a tile stay in the L1 cache

struct Operand {
  OperandKind kind;
  DType dtype;
  bool is_direct;  // memory already holds what the tile function takes
  LoadFn load = nullptr;
  StoreFn store = nullptr;
};

inline DType tile_dtype(OperandKind kind, ComputeType compute) {
  if (kind == OperandKind::Compute) return compute_dtype(compute);
  return kind == OperandKind::Mask ? DType::Bool : to_real(compute_dtype(compute));
}

// Everything about one call that does not depend on the position in it.
struct Call {
  TileFn tile;
  ComputeType compute;
  int num_operands;
  Operand operands[LoopNest::kMaxOperands];
  const void* scalars;
  int64_t grain;
  // Set where the results first become a narrower dtype than the tile's: see is_stored_twice.
  StoreFn narrow = nullptr;
  LoadFn widen = nullptr;
  int64_t narrow_size = 0;

  void set_operand(int k, OperandKind kind, const Tensor& t) {
    Operand& o = operands[k];
    o.kind = kind;
    o.dtype = t.dtype();
    const DType wanted = tile_dtype(kind, compute);
    // A byte mask may be read from uint8 only after normalizing it to 0 and 1.
    o.is_direct = o.dtype == wanted;
    if (o.is_direct && k > 0) {
      o.load = kind == OperandKind::Mask ? load_mask_fn(o.dtype)
                                         : load_fn(o.dtype, compute_type(wanted));
      return;
    }
    if (kind == OperandKind::Mask) {
      o.load = load_mask_fn(o.dtype);
      o.store = store_mask_fn(o.dtype);
    } else {
      const ComputeType c = compute_type(wanted);
      o.load = k > 0 ? load_fn(o.dtype, c) : nullptr;
      o.store = k == 0 ? store_fn(c, o.dtype) : nullptr;
    }
  }
};

// The buffers of one thread; operands that never move (numbers, expanded values) are filled once.
struct Buffers {
  alignas(64) char data[LoopNest::kMaxOperands][kTileBytes];
  alignas(64) char narrow[kTileBytes];
  bool is_constant_filled[LoopNest::kMaxOperands] = {};
};

// Rounds or wraps the results of a tile as the call's dtype would hold them.
void narrow_results(const Call& call, char* tile, int64_t n, char* buffer) {
  const int64_t size = item_size(compute_dtype(call.compute)), step = kTileBytes / size;
  for (int64_t i = 0; i < n; i += step) {
    const Block block{1, std::min(step, n - i), 0, call.narrow_size};
    call.narrow(tile + i * size, block, buffer);
    call.widen(buffer, block, tile + i * size);
  }
}

void run_block(const Call& call, const LoopNest& nest, char* const* at, int64_t rows, int64_t cols,
               Buffers& buffers) {
  char* ptrs[LoopNest::kMaxOperands];
  bool is_stored = false;
  for (int k = 0; k < call.num_operands; ++k) {
    const Operand& o = call.operands[k];
    const int64_t s0 = nest.strides[k][0], s1 = nest.strides[k][1];
    const int64_t item = item_size(o.dtype);
    if (o.is_direct && s0 == item && (rows == 1 || s1 == cols * item)) {
      ptrs[k] = at[k];
      continue;
    }
    ptrs[k] = buffers.data[k];
    if (k == 0) {
      is_stored = true;
      continue;
    }
    const bool is_constant = s0 == 0 && s1 == 0 && nest.sizes.size() == 2;
    if (is_constant && buffers.is_constant_filled[k]) continue;
    const Block block =
        is_constant ? Block{1, kTileBytes / item_size(tile_dtype(o.kind, call.compute)), 0, 0}
                    : Block{rows, cols, s1, s0};
    o.load(at[k], block, ptrs[k]);
    buffers.is_constant_filled[k] = is_constant;
  }
  call.tile(ptrs, rows * cols, call.scalars);
  if (call.narrow) narrow_results(call, ptrs[0], rows * cols, buffers.narrow);
  if (is_stored) {
    const Operand& o = call.operands[0];
    const Block block{rows, cols, nest.strides[0][1], nest.strides[0][0]};
    if (o.store) return o.store(ptrs[0], block, at[0]);
    const StoreFn same = o.kind == OperandKind::Mask ? store_mask_fn(o.dtype)
                                                     : store_fn(compute_type(o.dtype), o.dtype);
    same(ptrs[0], block, at[0]);
  }
}

void run_nest(const Call& call, const LoopNest& nest) {
  const int64_t tile = kTileBytes / item_size(compute_dtype(call.compute));
  const int64_t cols = nest.sizes[0], rows = nest.sizes[1];
  bool is_all_direct = true;
  for (int k = 0; k < call.num_operands; ++k)
    is_all_direct &=
        call.operands[k].is_direct && nest.strides[k][0] == item_size(call.operands[k].dtype);
  // Without buffers a run may be as long as a thread's share; with them it must fit the tile.
  const int64_t run = is_all_direct ? call.grain : std::min(tile, call.grain);
  const int64_t col_step = std::min(cols, run);
  const int64_t row_step =
      cols < tile ? std::max<int64_t>(1, std::min(tile, call.grain) / cols) : 1;
  const int64_t col_blocks = (cols + col_step - 1) / col_step,
                row_blocks = (rows + row_step - 1) / row_step;
  const int64_t per_outer = col_blocks * row_blocks;
  int64_t outer = 1;
  for (size_t d = 2; d < nest.sizes.size(); ++d) outer *= nest.sizes[d];
  const int64_t block_elements = std::min(cols, col_step) * std::min(rows, row_step);
  const int64_t grain = std::max<int64_t>(1, call.grain / std::max<int64_t>(block_elements, 1));

  parallel_for(0, outer * per_outer, grain, [&](int64_t first, int64_t last) {
    Buffers buffers;
    for (int64_t b = first; b < last; ++b) {
      int64_t rest = b / per_outer;
      const int64_t inside = b % per_outer;
      const int64_t row = inside / col_blocks * row_step, col = inside % col_blocks * col_step;
      char* at[LoopNest::kMaxOperands];
      for (int k = 0; k < call.num_operands; ++k)
        at[k] = nest.base[k] + row * nest.strides[k][1] + col * nest.strides[k][0];
      for (size_t d = 2; d < nest.sizes.size(); ++d) {
        const int64_t i = rest % nest.sizes[d];
        rest /= nest.sizes[d];
        for (int k = 0; k < call.num_operands; ++k) at[k] += i * nest.strides[k][d];
      }
      run_block(call, nest, at, std::min(row_step, rows - row), std::min(col_step, cols - col),
                buffers);
    }
  });
}

// Small calls over plain memory whose operands already have the tile's types, or are one value
// each: nothing to set up.
bool run_small(const PointwiseKernel& kernel, ComputeType compute, TileFn tile, const Tensor& out,
               Span<const Tensor*> inputs, const void* numbers) {
  const Operands& kinds = kernel.operands;
  constexpr int64_t kConstantBytes = 256;
  const int64_t n = out.numel();
  if (n > kernel.grain || out.dtype() != tile_dtype(kinds.out, compute) || !out.is_contiguous())
    return false;
  char* ptrs[LoopNest::kMaxOperands];
  ptrs[0] = static_cast<char*>(out.data());
  alignas(64) char constants[LoopNest::kMaxOperands][kConstantBytes];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = *inputs[i];
    const DType wanted = tile_dtype(kinds.in[i], compute);
    if (t.numel() == n && t.dtype() == wanted && t.is_contiguous()) {
      ptrs[i + 1] = static_cast<char*>(t.data());
    } else if (t.numel() == 1 && n * 16 <= kConstantBytes) {
      const LoadFn load = kinds.in[i] == OperandKind::Mask
                              ? load_mask_fn(t.dtype())
                              : load_fn(t.dtype(), compute_type(wanted));
      ptrs[i + 1] = constants[i];
      load(static_cast<const char*>(t.data()), Block{1, n, 0, 0}, ptrs[i + 1]);
    } else {
      return false;
    }
  }
  tile(ptrs, n, numbers);
  return true;
}

// `narrow` is the dtype that results become before they are stored, if it is not the tile's.
[[gnu::noinline]] void run_strided(const PointwiseKernel& kernel, ComputeType compute, TileFn tile,
                                   const Tensor& out, Span<const Tensor*> inputs,
                                   const void* numbers, std::optional<DType> narrow) {
  const Operands& kinds = kernel.operands;
  Call call;
  call.grain = kernel.grain;
  call.compute = compute;
  call.tile = tile;
  call.scalars = numbers;
  if (narrow) {
    call.narrow = store_fn(compute, *narrow);
    call.widen = load_fn(*narrow, compute);
    call.narrow_size = item_size(*narrow);
  }
  call.num_operands = static_cast<int>(inputs.size()) + 1;
  call.set_operand(0, kinds.out, out);
  for (size_t i = 0; i < inputs.size(); ++i)
    call.set_operand(static_cast<int>(i) + 1, kinds.in[i], *inputs[i]);
  LoopNest nest;
  nest.add(out, out.sizes());
  for (const Tensor* t : inputs) nest.add(*t, out.sizes());
  nest.finish(out.sizes());
  run_nest(call, nest);
}

// Whether a result must become its own dtype before it becomes that of `out`: the tile computes in
// a wider one, where an int8 does not wrap and a half is not rounded.
bool is_stored_twice(const PointwiseKernel& kernel, DTypeRule rule, DType common,
                     const Tensor& out) {
  return kernel.operands.out == OperandKind::Compute && rule != DTypeRule::Self &&
         out.dtype() != common && compute_dtype(compute_type(common)) != common;
}

bool is_half(DType t) { return t == DType::Half || t == DType::BFloat16; }

// A number beside small integers or halves counts in their dtype: -3 is 253 for uint8, and 0.1 is
// the half next to it, which alone equals it. Beside floats that matters for truth values: 1e-300
// is zero there.
bool is_wide_number(const Tensor& t, DType common) {
  if (t.dim() != 0 || t.dtype() == common) return false;
  if (is_integral(common)) return is_integral(t.dtype());
  if (!is_half(common)) return item_size(t.dtype()) > item_size(common);
  const double v = read_scalar(t).to_double();
  return !std::isnan(v) && rounded_to_narrow(v, common) != v;
}

[[gnu::noinline]] Tensor narrowed(const Tensor& t, DType common) {
  Tensor number = make_tensor({}, common, t.device());
  cpu::copy_(number, t, false);
  return number;
}

bool has_wide_number(const PointwiseOp& op, Span<const Tensor*> inputs, DType common) {
  const bool is_tested = op.rule == DTypeRule::Bool && !is_integral(common);
  const bool is_narrow = is_integral(common) ? item_size(common) < 8 : is_half(common) || is_tested;
  if (inputs.size() != 2 || !is_narrow) return false;
  if (is_half(common) && (op.accept & kExactNumbers)) return false;
  return is_wide_number(*inputs[0], common) || is_wide_number(*inputs[1], common);
}

// Integers fit every type that a tile computes in: nothing to look at in most calls.
void check_numbers(DType compute, Span<Scalar> scalars) {
  for (const Scalar& s : scalars)
    if (s.kind() != Scalar::Kind::Int) check_fits(s, compute);
}

// The same for any dtype. Numbers beside halves are held in float, as the tile takes them.
void check_all_numbers(DType common, Span<Scalar> scalars) {
  if (is_floating(common) || item_size(common) == 8)
    return check_numbers(item_size(common) < 4 ? DType::Float : common, scalars);
  for (const Scalar& s : scalars) check_fits(s, common);
}

// Floats divided by zero are infinite; integers have no quotient, and the CPU traps.
inline bool is_integer_division(const PointwiseKernel& kernel, DType common) {
  return kernel.operands.divisor != 0 && is_integral(common, true);
}

void check_divisor(const PointwiseKernel& kernel, DType common, Span<const Tensor*> inputs) {
  if (is_integer_division(kernel, common))
    TAEDA_CHECK(!has_zero(*inputs[kernel.operands.divisor]), "ZeroDivisionError");
}

// The tile that reads and writes `dtype` as it lies, where `n` elements are work for one thread.
inline TileFn direct_tile(const PointwiseKernel& kernel, DType dtype, int64_t n) {
  if (n == 0 || n > kernel.grain || !kernel.is_uniform || is_integer_division(kernel, dtype))
    return nullptr;
  const ComputeType compute = compute_type(dtype);
  return compute_dtype(compute) == dtype ? tile_of(kernel, compute) : nullptr;
}

}  // namespace

Tensor run_alike(const PointwiseKernel& kernel, Span<const Tensor*> inputs, Span<Scalar> scalars) {
  const TensorImpl* first = inputs[0]->impl();
  if (!first || !first->is_plain()) return {};
  const DType dtype = first->dtype();
  const int64_t n = first->numel();
  const TileFn tile = direct_tile(kernel, dtype, n);
  if (!tile || !keeps_dtype(*kernel.op, dtype)) return {};
  check_numbers(dtype, scalars);
  char* ptrs[LoopNest::kMaxOperands];
  ptrs[1] = static_cast<char*>(first->data());
  for (size_t i = 1; i < inputs.size(); ++i) {
    const TensorImpl* t = inputs[i]->impl();
    if (!t || !t->is_plain_like(*first)) return {};
    ptrs[i + 1] = static_cast<char*>(t->data());
  }
  const Numbers numbers(compute_type(dtype), scalars);
  Tensor out = make_tensor_like(*inputs[0]);
  ptrs[0] = static_cast<char*>(out.storage()->data());
  tile(ptrs, n, numbers.bytes);
  return out;
}

void run_uniform(const PointwiseKernel& kernel, DType common, const Tensor& out,
                 Span<const Tensor*> inputs, Span<Scalar> scalars) {
  const int64_t n = out.numel();
  const TileFn tile = direct_tile(kernel, common, n);
  if (!tile) return run_pointwise(kernel, common, out, inputs, scalars);
  check_numbers(common, scalars);
  const Numbers numbers(compute_type(common), scalars);
  char* ptrs[LoopNest::kMaxOperands];
  ptrs[0] = static_cast<char*>(out.data());
  for (size_t i = 0; i < inputs.size(); ++i) ptrs[i + 1] = static_cast<char*>(inputs[i]->data());
  tile(ptrs, n, numbers.bytes);
}

// masked_fill_ of an expanded tensor: an element is filled if one of those in its place is.
static void fill_repeats(const PointwiseKernel& kernel, DType common, const Tensor& self,
                         Span<const Tensor*> inputs, Span<Scalar> scalars) {
  Tensor once = self, mask = inputs[1]->expand(self.sizes());
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.strides()[d] != 0 || self.sizes()[d] == 1) continue;
    once = once.narrow(d, 0, 1);
    mask = mask.any(d, true);
  }
  std::vector<const Tensor*> narrowed(inputs.begin(), inputs.end());
  narrowed[0] = &once;
  narrowed[1] = &mask;
  run_pointwise(kernel, common, once, narrowed, scalars);
}

void run_pointwise(const PointwiseKernel& kernel, DType common, const Tensor& out,
                   Span<const Tensor*> inputs, Span<Scalar> scalars) {
  if (out.numel() == 0) return;
  const PointwiseOp& op = *kernel.op;
  if ((op.accept & kFillsRepeats) && repeats_elements(out))
    return fill_repeats(kernel, common, out, inputs, scalars);
  const ComputeType compute = compute_type(common);
  const TileFn tile = tile_of(kernel, compute);
  TAEDA_CHECK_NOT_IMPLEMENTED(tile, "\"", op.name, "_cpu\" not implemented for '", common, "'");
  TAEDA_INTERNAL_CHECK(kernel.operands.num_inputs == inputs.size(), op.name);
  if (has_wide_number(op, inputs, common)) {
    const auto in_common = [&](const Tensor& t) {
      return is_wide_number(t, common) ? narrowed(t, common) : t;
    };
    const Tensor left = in_common(*inputs[0]), right = in_common(*inputs[1]);
    const Tensor* const narrow[] = {&left, &right};
    return run_pointwise(kernel, common, out, narrow, scalars);
  }
  check_divisor(kernel, common, inputs);
  check_all_numbers(common, scalars);
  const Numbers numbers(compute, scalars);
  std::optional<DType> narrow;
  if (is_stored_twice(kernel, op.rule, common, out))
    narrow = common;
  else if (run_small(kernel, compute, tile, out, inputs, numbers.bytes))
    return;
  run_strided(kernel, compute, tile, out, inputs, numbers.bytes, narrow);
}

TileFn find_tile(std::string_view body, ComputeType type) {
  for (const NamedKernel& k : named_kernels())
    if (body == k.name) return tile_of(*k.kernel, type);
  return nullptr;
}

}  // namespace taeda::cpu
