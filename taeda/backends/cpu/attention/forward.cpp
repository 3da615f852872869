// Attention on the CPU, block by block of keys: memory grows with the lengths, not their product.
#include <cmath>
#include <utility>

#include "taeda/backends/cpu/attention/panels.h"
#include "taeda/backends/cpu/attention/rows.h"
#include "taeda/backends/cpu/attention_declarations.h"
#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/attention/scores.h"

namespace taeda::cpu {
namespace attention {
namespace {

constexpr int64_t kKeys = 128;     // at most in a block
constexpr int64_t kMaxPanels = 4;  // of queries that walk over the keys together
constexpr int kMaxLanes = 64;

// The keys and values of one head, packed block by block when a query first asks for them.
template <class T>
class KeyPanels {
 public:
  using Acc = AccOf<T>;
  KeyPanels(const Shape<T>& shape, const Tensor& key, const Tensor& value)
      : shape_(shape),
        key_(key),
        value_(value),
        block_(kKeys / shape.mr * shape.mr),
        keys_(scratch_array<Acc>(Scratch::PanelA, packed_keys() + packed_values())),
        values_(keys_ + packed_keys()) {}

  int64_t block() const { return block_; }
  void select(int64_t b, int64_t h) {
    if (b == b_ && h == h_) return;
    b_ = b;
    h_ = h;
    packed_ = 0;
  }
  // Packs the block that starts at `first` where it is the next one.
  void prepare(int64_t first) {
    if (first < packed_) return;
    const int64_t count = std::min(block_, shape_.keys - first);
    const Matrix<const T> k = key_.at(b_, h_, first), v = value_.at(b_, h_, first);
    shape_.kernels.pack(count, shape_.width, k.data, k.row_stride, k.col_stride, shape_.mr,
                        keys_ + first * shape_.width);
    shape_.kernels.pack(shape_.width, count, v.data, v.col_stride, v.row_stride, shape_.mr,
                        values_ + first * shape_.padded_width);
    packed_ = first + count;
  }
  const Acc* keys(int64_t first) const { return keys_ + first * shape_.width; }
  const Acc* values(int64_t first) const { return values_ + first * shape_.padded_width; }

 private:
  size_t packed_keys() const { return round_up(shape_.keys, shape_.mr) * shape_.width; }
  size_t packed_values() const { return shape_.keys * shape_.padded_width; }

  const Shape<T>& shape_;
  const Operand<const T> key_, value_;
  int64_t block_, b_ = -1, h_ = -1, packed_ = 0;
  Acc *keys_, *values_;
};

// A few panels of queries of one head.
template <class T>
class QueryPanels {
 public:
  using Acc = AccOf<T>;
  QueryPanels(const Shape<T>& shape, int64_t panels, int64_t block)
      : shape_(shape), rows_(attention_rows<Acc>()) {
    const size_t query = shape.width * shape.nr, sum = shape.padded_width * shape.nr;
    const size_t scores = round_up(block, shape.mr) * shape.nr;
    const size_t turned = round_up(shape.width, shape.nr) * shape.nr;
    Acc* next = scratch_array<Acc>(Scratch::PanelB, panels * (query + sum) + 2 * scores + turned);
    const auto take = [&](size_t count) { return std::exchange(next, next + count); };
    query_ = take(panels * query);
    sums_ = take(panels * sum);
    scores_ = take(scores);
    mask_ = take(scores);
    turned_ = take(turned);
  }

  void start(const Operand<const T>& query, int64_t b, int64_t h, int64_t first, int64_t count) {
    b_ = b;
    h_ = h;
    first_ = first;
    count_ = count;
    const Matrix<const T> q = query.at(b, h, first);
    shape_.kernels.pack(count, shape_.width, q.data, q.row_stride, q.col_stride, shape_.nr, query_);
    std::fill_n(largest_, kMaxPanels * kMaxLanes, -std::numeric_limits<Acc>::infinity());
    std::fill_n(total_, kMaxPanels * kMaxLanes, Acc(0));
    if (shape_.keys == 0) std::fill_n(sums_, panels() * shape_.padded_width * shape_.nr, Acc(0));
  }
  int64_t panels() const { return (count_ + shape_.nr - 1) / shape_.nr; }

  // Adds what one panel's queries see of a block of keys.
  void visit(int64_t panel, const KeyPanels<T>& from, int64_t first_key, int64_t block_keys,
             const AddedMask<T>& mask) {
    const int nr = shape_.nr;
    const int64_t first = first_ + panel * nr,
                  lanes = std::min<int64_t>(nr, first_ + count_ - first);
    int64_t keys = block_keys;
    if (shape_.is_causal) keys = std::min(keys, first + lanes - first_key);
    if (keys <= 0) return;
    multiply_panels<T>(shape_.kernels, keys, shape_.width, from.keys(first_key), shape_.width,
                       query_ + panel * nr * shape_.width, shape_.scale, Acc(0), scores_);
    if (mask.is_defined()) mask.fill(b_, h_, first, lanes, first_key, keys, mask_);
    if (shape_.is_causal) hide_later_keys(first, first_key, keys, nr, scores_);
    Acc shrink[kMaxLanes];
    rows_.softmax_step(keys, nr, scores_, mask.is_defined() ? mask_ : nullptr,
                       largest_ + panel * kMaxLanes, total_ + panel * kMaxLanes, shrink);
    Acc* const sums = sums_ + panel * shape_.padded_width * nr;
    if (first_key > 0) rows_.scale_lanes(shape_.width, nr, sums, shrink);
    multiply_panels<T>(shape_.kernels, shape_.width, keys, from.values(first_key), block_keys,
                       scores_, Acc(1), Acc(first_key > 0), sums);
  }

  void finish(int64_t panel, const Operand<T>& output, Acc* logsumexp, int64_t logsumexp_stride) {
    const int nr = shape_.nr;
    const int64_t first = panel * nr, lanes = std::min<int64_t>(nr, count_ - first);
    Acc factors[kMaxLanes];
    for (int j = 0; j < nr; ++j) {
      const Acc total = total_[panel * kMaxLanes + j], largest = largest_[panel * kMaxLanes + j];
      const Acc sum = total == 0 ? Acc(1) : total;
      factors[j] = 1 / sum;
      if (j < lanes)
        logsumexp[(first_ + first + j) * logsumexp_stride] =
            (largest == -std::numeric_limits<Acc>::infinity() ? Acc(0) : largest) + std::log(sum);
    }
    Acc* const sums = sums_ + panel * shape_.padded_width * nr;
    rows_.scale_lanes(shape_.width, nr, sums, factors);
    store_turned<T>(shape_.width, lanes, sums, output.at(b_, h_, first_ + first), turned_);
  }

 private:
  const Shape<T>& shape_;
  const AttentionRows<Acc>& rows_;
  int64_t b_ = 0, h_ = 0, first_ = 0, count_ = 0;
  Acc *query_, *sums_, *scores_, *mask_, *turned_;
  alignas(64) Acc largest_[kMaxPanels * kMaxLanes];
  alignas(64) Acc total_[kMaxPanels * kMaxLanes];
};

// Panels that go together: fewer where threads would have nothing to do.
template <class T>
int64_t panels_together(const Shape<T>& shape) {
  const int64_t panels = (shape.queries + shape.nr - 1) / shape.nr;
  int64_t together = std::min(kMaxPanels, panels);
  while (together > 1 &&
         shape.batch * shape.heads * ((panels + together - 1) / together) < 2 * num_threads())
    --together;
  return together;
}

template <class T>
void forward(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal,
             const Tensor& attn_mask, double scale, Tensor& output, Tensor& logsumexp) {
  using Acc = AccOf<T>;
  const Shape<T> shape(query, key, is_causal, scale);
  const AddedMask<T> mask(attn_mask, query, key);
  const Operand<const T> queries(query);
  const Operand<T> out(output);
  Acc* const sums = static_cast<Acc*>(logsumexp.data());
  const int64_t together = panels_together(shape), step = together * shape.nr;
  const int64_t blocks = (shape.queries + step - 1) / step;
  parallel_for(0, shape.batch * shape.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    KeyPanels<T> keys(shape, key, value);
    QueryPanels<T> panels(shape, together, keys.block());
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / blocks / shape.heads, h = task / blocks % shape.heads;
      const int64_t first = task % blocks * step, count = std::min(step, shape.queries - first);
      keys.select(b, h / shape.heads_per_key());
      panels.start(queries, b, h, first, count);
      const int64_t seen = is_causal ? std::min(shape.keys, first + count) : shape.keys;
      for (int64_t k = 0; k < seen; k += keys.block()) {
        keys.prepare(k);
        for (int64_t p = 0; p < panels.panels(); ++p)
          panels.visit(p, keys, k, std::min(keys.block(), shape.keys - k), mask);
      }
      for (int64_t p = 0; p < panels.panels(); ++p)
        panels.finish(p, out, sums + b * logsumexp.stride(0) + h * logsumexp.stride(1),
                      logsumexp.stride(2));
    }
  });
}

}  // namespace
}  // namespace attention

void _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                 const Tensor& value, double, bool is_causal,
                                                 const Tensor& attn_mask,
                                                 std::optional<double> scale, Tensor& output,
                                                 Tensor& logsumexp) {
  if (logsumexp.numel() == 0) return;
  const double factor = taeda::attention::scale_of(query, scale);
  const auto run = query.dtype() == DType::Double     ? &attention::forward<double>
                   : query.dtype() == DType::BFloat16 ? &attention::forward<BFloat16>
                   : query.dtype() == DType::Half     ? &attention::forward<Half>
                                                      : &attention::forward<float>;
  run(query, key, value, is_causal, attn_mask, factor, output, logsumexp);
}

}  // namespace taeda::cpu
