// Dropout on the CPU: mask and product in one pass.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/dropout_declarations.h"

#include <algorithm>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/logical_walk.h"
#include "taeda/backends/cpu/random/random_fill.h"
#include "taeda/backends/cpu/random_declarations.h"
#include "taeda/ops/dropout/drawn_dropout.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kPiece = 1024;

// A product, as the mask is one of PyTorch's factors: what is dropped of a NaN is a NaN.
template <class T>
void scale_masked(T* values, const uint8_t* mask, int64_t n, T scale) {
  for (int64_t i = 0; i < n; ++i) values[i] = values[i] * (mask[i] ? scale : T(0));
}

void read_tile(const Tensor& t, LoadFn load, int64_t first, int64_t n, int64_t width, char* tile) {
  walk_logical(t, first, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
    load(at, Block{1, run, 0, step}, tile + done * width);
  });
}

// out = input * (mask ? scale : 0), where make(mask, first, n) tells the mask of elements in
// logical order.
template <class Make>
void apply(const Tensor& input, double scale, const Tensor& out, Make&& make) {
  const ComputeType c = compute_type(input.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(c == ComputeType::F32 || c == ComputeType::F64,
                              "\"native_dropout\" not implemented for '", input.dtype(), "'");
  const LoadFn load = load_fn(input.dtype(), c);
  const StoreFn store = store_fn(c, out.dtype());
  const int64_t width = item_size(compute_dtype(c));
  parallel_random_fill(out.numel(), [&](int64_t first, int64_t count) {
    alignas(64) char tile[kPiece * 8];
    uint8_t mask[kPiece];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      make(mask, first + i, n);
      read_tile(input, load, first + i, n, width, tile);
      if (c == ComputeType::F32)
        scale_masked(reinterpret_cast<float*>(tile), mask, n, static_cast<float>(scale));
      else
        scale_masked(reinterpret_cast<double*>(tile), mask, n, scale);
      walk_logical(out, first + i, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
        store(tile + done * width, Block{1, run, 0, step}, at);
      });
    }
  });
}

}  // namespace

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  auto [out, mask, is_done] = DrawnDropout(input, p, train);
  if (is_done) return {out, mask};
  const double scale = p == 1 ? 0.0 : 1 / (1 - p);
  if (default_cpu_generator().impl().engine() == RandomEngine::Mersenne) {
    bernoulli__float(mask, 1 - p, Generator());
    const Tensor& drawn = mask;
    apply(input, scale, out, [&](uint8_t* bits, int64_t first, int64_t n) {
      read_tile(drawn, load_mask_fn(DType::Bool), first, n, 1, reinterpret_cast<char*>(bits));
    });
    return {out, mask};
  }
  const PhiloxRange r = default_cpu_generator().reserve_range((input.numel() + 3) / 4);
  const StoreFn keep = store_mask_fn(DType::Bool);
  const Tensor& kept = mask;
  apply(input, scale, out, [&](uint8_t* bits, int64_t first, int64_t n) {
    fill_bernoulli(bits, first, n, r.seed, r.offset, 1 - p);
    walk_logical(kept, first, n, [&](char* at, int64_t run, int64_t step, int64_t done) {
      keep(reinterpret_cast<const char*>(bits + done), Block{1, run, 0, step}, at);
    });
  });
  return {out, mask};
}

Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  check_dropout_mask(mask);
  // The scale is a float, and so is its product with whole numbers.
  if (is_integral(grad_output.dtype(), true))
    return native_dropout_backward(grad_output.to(default_dtype()), mask, scale);
  Tensor out = taeda::empty_like(grad_output);
  const bool is_whole = mask.sizes() == grad_output.sizes();
  const Tensor wide = is_whole ? mask : mask.expand(grad_output.sym_sizes());
  if (out.numel() == 0) return out;
  const LoadFn load = load_mask_fn(DType::Bool);
  apply(grad_output, scale, out, [&](uint8_t* bits, int64_t first, int64_t n) {
    read_tile(wide, load, first, n, 1, reinterpret_cast<char*>(bits));
  });
  return out;
}

}  // namespace taeda::cpu
