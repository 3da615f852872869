// Attention on the CPU, block by block of keys: memory grows with the lengths, not their product.
#include <cmath>
#include <utility>

#include "taeda/backends/cpu/attention/panels.h"
#include "taeda/backends/cpu/attention/rows.h"
#include "taeda/backends/cpu/attention/tiles.h"
#include "taeda/backends/cpu/attention_declarations.h"
#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/attention/scores.h"

namespace taeda::cpu {
namespace attention {
namespace {

constexpr int64_t kMaxPanels = 4;  // of queries that walk over the keys together

// Products by the micro-kernel of the matrix product; what is packed has the accumulator's type.
template <class T>
class KernelProducts {
 public:
  using Acc = AccOf<T>;
  using Packed = Acc;
  static constexpr bool kNarrowsWeights = false;
  explicit KernelProducts(const Shape<T>& shape) : shape_(shape) {}

  int64_t block() const { return 128 / shape_.mr * shape_.mr; }
  int64_t row_step() const { return shape_.mr; }
  int64_t depth() const { return shape_.width; }
  int64_t padded_width() const { return shape_.padded_width; }
  void pack_keys(int64_t count, Matrix<const T> k, Packed* out) const {
    shape_.kernels.pack(count, shape_.width, k.data, k.row_stride, k.col_stride, shape_.mr, out);
  }
  void pack_values(int64_t count, Matrix<const T> v, Packed* out) const {
    shape_.kernels.pack(shape_.width, count, v.data, v.col_stride, v.row_stride, shape_.mr, out);
  }
  void pack_queries(int64_t count, Matrix<const T> q, Packed* out) const {
    shape_.kernels.pack(count, shape_.width, q.data, q.row_stride, q.col_stride, shape_.nr, out);
  }
  void make_scores(int64_t keys, const Packed* key, const Packed* query, Acc* scores) const {
    multiply_panels<T>(shape_.kernels, keys, shape_.width, key, shape_.width, query, shape_.scale,
                       Acc(0), scores);
  }
  // AttentionRows::softmax_step; returns the weights as add_values takes them.
  const Packed* soften(int64_t keys, Acc* scores, const Acc* mask, Acc* largest, Acc* total,
                       Acc* shrink, Packed*) const {
    attention_rows<Acc>().softmax_step(keys, shape_.nr, scores, mask, largest, total, shrink);
    return scores;
  }
  // sums (+)= values * weights, for the first `keys` of the block's keys.
  void add_values(int64_t keys, int64_t block_keys, const Packed* values, const Packed* weights,
                  bool adds, Acc* sums) const {
    multiply_panels<T>(shape_.kernels, shape_.width, keys, values, block_keys, weights, Acc(1),
                       Acc(adds), sums);
  }

 private:
  const Shape<T>& shape_;
};

#if defined(__x86_64__)
// Products by tile registers; what is packed stays bfloat16, and weights are rounded to it.
class TilePanels {
 public:
  using Acc = float;
  using Packed = BFloat16;
  static constexpr bool kNarrowsWeights = true;
  explicit TilePanels(const Shape<BFloat16>& shape)
      : shape_(shape), depth_(round_up(shape.width, kTileStep)) {
    tiles_.open();
  }
  ~TilePanels() { tiles_.close(); }
  TilePanels(const TilePanels&) = delete;

  int64_t block() const { return 256; }
  int64_t row_step() const { return kTileStep; }
  int64_t depth() const { return depth_; }
  int64_t padded_width() const { return depth_; }
  void pack_keys(int64_t count, Matrix<const BFloat16> k, Packed* out) const {
    tiles_.pack_rows(count, shape_.width, k, depth_, out);
  }
  void pack_values(int64_t count, Matrix<const BFloat16> v, Packed* out) const {
    tiles_.pack_turned(count, shape_.width, v, depth_, round_up(count, kTileStep), out);
  }
  void pack_queries(int64_t count, Matrix<const BFloat16> q, Packed* out) const {
    for (int64_t i = 0; i < count; i += kTileLanes, out += kTileLanes * depth_)
      tiles_.pack_pairs(std::min(kTileLanes, count - i), shape_.width,
                        {q.data + i * q.row_stride, q.row_stride, q.col_stride}, depth_, out);
  }
  void make_scores(int64_t keys, const Packed* key, const Packed* query, float* scores) const {
    tiles_.multiply(round_up(keys, kTileStep), depth_, key, depth_, query, false, scores);
    float factors[kTileLanes];
    std::fill_n(factors, kTileLanes, shape_.scale);
    attention_rows<float>().scale_lanes(keys, kTileLanes, scores, factors);
  }
  const Packed* soften(int64_t keys, const float* scores, const float* mask, float* largest,
                       float* total, float* shrink, Packed* narrow) const {
    tiles_.soften(keys, scores, mask, largest, total, shrink, narrow);
    return narrow;
  }
  void add_values(int64_t keys, int64_t block_keys, const Packed* values, const Packed* weights,
                  bool adds, float* sums) const {
    tiles_.multiply(depth_, round_up(keys, kTileStep), values, round_up(block_keys, kTileStep),
                    weights, adds, sums);
  }

 private:
  const TileProducts& tiles_ = tile_products_avx512;
  const Shape<BFloat16>& shape_;
  int64_t depth_;
};
#endif

// The keys and values of one head, packed block by block when a query first asks for them.
template <class T, class Products>
class KeyPanels {
 public:
  using Packed = typename Products::Packed;
  KeyPanels(const Shape<T>& shape, const Products& products, const Tensor& key, const Tensor& value)
      : shape_(shape),
        products_(products),
        key_(key),
        value_(value),
        keys_(scratch_array<Packed>(Scratch::PanelA,
                                    padded() * (products.depth() + products.padded_width()))),
        values_(keys_ + padded() * products.depth()) {}

  void select(int64_t b, int64_t h) {
    if (b == b_ && h == h_) return;
    b_ = b;
    h_ = h;
    packed_ = 0;
  }
  // Packs the block that starts at `first` where it is the next one.
  void prepare(int64_t first) {
    if (first < packed_) return;
    const int64_t count = std::min(products_.block(), shape_.keys - first);
    products_.pack_keys(count, key_.at(b_, h_, first), keys_ + first * products_.depth());
    products_.pack_values(count, value_.at(b_, h_, first),
                          values_ + first * products_.padded_width());
    packed_ = first + count;
  }
  const Packed* keys(int64_t first) const { return keys_ + first * products_.depth(); }
  const Packed* values(int64_t first) const { return values_ + first * products_.padded_width(); }

 private:
  size_t padded() const { return round_up(shape_.keys, products_.row_step()); }

  const Shape<T>& shape_;
  const Products& products_;
  const Operand<const T> key_, value_;
  int64_t b_ = -1, h_ = -1, packed_ = 0;
  Packed *keys_, *values_;
};

// A few panels of queries of one head.
template <class T, class Products>
class QueryPanels {
 public:
  using Acc = AccOf<T>;
  using Packed = typename Products::Packed;
  QueryPanels(const Shape<T>& shape, const Products& products, int64_t panels)
      : shape_(shape), products_(products), rows_(attention_rows<Acc>()) {
    const int nr = shape.nr;
    const size_t query = products.depth() * nr, sum = products.padded_width() * nr;
    const size_t scores = round_up(products.block(), products.row_step()) * nr;
    const size_t turned = round_up(shape.width, nr) * nr;
    // The packed ones last: their elements may be smaller, and are counted as the others.
    const size_t narrow = Products::kNarrowsWeights ? scores : 0;
    Acc* next =
        scratch_array<Acc>(Scratch::PanelB, panels * (query + sum) + 2 * scores + turned + narrow);
    const auto take = [&](size_t count) { return std::exchange(next, next + count); };
    sums_ = take(panels * sum);
    scores_ = take(scores);
    mask_ = take(scores);
    turned_ = take(turned);
    query_ = reinterpret_cast<Packed*>(take(panels * query));
    narrow_ = reinterpret_cast<Packed*>(take(narrow));
  }

  void start(const Operand<const T>& query, int64_t b, int64_t h, int64_t first, int64_t count) {
    b_ = b;
    h_ = h;
    first_ = first;
    count_ = count;
    const Matrix<const T> q = query.at(b, h, first);
    products_.pack_queries(count, q, query_);
    std::fill_n(largest_, kMaxPanels * kMaxLanes, -std::numeric_limits<Acc>::infinity());
    std::fill_n(total_, kMaxPanels * kMaxLanes, Acc(0));
    if (shape_.keys == 0)
      std::fill_n(sums_, panels() * products_.padded_width() * shape_.nr, Acc(0));
  }
  int64_t panels() const { return (count_ + shape_.nr - 1) / shape_.nr; }

  // Adds what one panel's queries see of a block of keys.
  void visit(int64_t panel, const KeyPanels<T, Products>& from, int64_t first_key,
             int64_t block_keys, const AddedMask<T>& mask) {
    const int nr = shape_.nr;
    const int64_t first = first_ + panel * nr,
                  lanes = std::min<int64_t>(nr, first_ + count_ - first);
    int64_t keys = block_keys;
    if (shape_.is_causal) keys = std::min(keys, first + lanes - first_key);
    if (keys <= 0) return;
    products_.make_scores(keys, from.keys(first_key), query_ + panel * nr * products_.depth(),
                          scores_);
    if (mask.is_defined()) mask.fill(b_, h_, first, lanes, first_key, keys, mask_);
    if (shape_.is_causal) hide_later_keys(first, first_key, keys, nr, scores_);
    Acc shrink[kMaxLanes];
    const Packed* weights =
        products_.soften(keys, scores_, mask.is_defined() ? mask_ : nullptr,
                         largest_ + panel * kMaxLanes, total_ + panel * kMaxLanes, shrink, narrow_);
    Acc* const sums = sums_ + panel * products_.padded_width() * nr;
    if (first_key > 0) rows_.scale_lanes(shape_.width, nr, sums, shrink);
    products_.add_values(keys, block_keys, from.values(first_key), weights, first_key > 0, sums);
  }

  void finish(int64_t panel, const Operand<T>& output, Acc* logsumexp, int64_t logsumexp_stride) {
    const int nr = shape_.nr;
    const int64_t first = panel * nr, lanes = std::min<int64_t>(nr, count_ - first);
    Acc factors[kMaxLanes];
    for (int j = 0; j < nr; ++j) {
      const Acc total = total_[panel * kMaxLanes + j], largest = largest_[panel * kMaxLanes + j];
      // Without a weight the sum is taken for one. Its logarithm is a negative zero then, which no
      // other query has: it tells zeros from what a softmax of keys that are all unseen gives.
      const bool has_weight = total != 0;
      const Acc sum = has_weight ? total : Acc(1);
      factors[j] = 1 / sum;
      const Acc base = largest == -std::numeric_limits<Acc>::infinity() ? Acc(0) : largest;
      if (j < lanes)
        logsumexp[(first_ + first + j) * logsumexp_stride] =
            has_weight || shape_.keys == 0 ? base + std::log(sum) : Acc(-0.0);
    }
    Acc* const sums = sums_ + panel * products_.padded_width() * nr;
    rows_.scale_lanes(shape_.width, nr, sums, factors);
    store_turned<T>(shape_.width, lanes, sums, output.at(b_, h_, first_ + first), turned_);
  }

 private:
  const Shape<T>& shape_;
  const Products& products_;
  const AttentionRows<Acc>& rows_;
  int64_t b_ = 0, h_ = 0, first_ = 0, count_ = 0;
  Acc *sums_, *scores_, *mask_, *turned_;
  Packed *query_, *narrow_;
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

template <class T, class Products>
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
    const Products products(shape);
    KeyPanels<T, Products> keys(shape, products, key, value);
    QueryPanels<T, Products> panels(shape, products, together);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / blocks / shape.heads, h = task / blocks % shape.heads;
      const int64_t first = task % blocks * step, count = std::min(step, shape.queries - first);
      keys.select(b, h / shape.heads_per_key());
      panels.start(queries, b, h, first, count);
      const int64_t seen = is_causal ? std::min(shape.keys, first + count) : shape.keys;
      for (int64_t k = 0; k < seen; k += products.block()) {
        keys.prepare(k);
        for (int64_t p = 0; p < panels.panels(); ++p)
          panels.visit(p, keys, k, std::min(products.block(), shape.keys - k), mask);
      }
      for (int64_t p = 0; p < panels.panels(); ++p)
        panels.finish(p, out, sums + b * logsumexp.stride(0) + h * logsumexp.stride(1),
                      logsumexp.stride(2));
    }
  });
}

using Forward = void(const Tensor&, const Tensor&, const Tensor&, bool, const Tensor&, double,
                     Tensor&, Tensor&);

Forward* find_forward(DType dtype) {
  switch (dtype) {
    case DType::Double: return &forward<double, KernelProducts<double>>;
    case DType::Half: return &forward<Half, KernelProducts<Half>>;
    case DType::BFloat16:
#if defined(__x86_64__)
      if (has_tiles() && gemm_kernels::kernels().get<BFloat16>().nr == kTileLanes)
        return &forward<BFloat16, TilePanels>;
#endif
      return &forward<BFloat16, KernelProducts<BFloat16>>;
    default: return &forward<float, KernelProducts<float>>;
  }
}

}  // namespace
}  // namespace attention

void _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                 const Tensor& value, double, bool is_causal,
                                                 const Tensor& attn_mask,
                                                 std::optional<double> scale, Tensor& output,
                                                 Tensor& logsumexp) {
  if (logsumexp.numel() == 0) return;
  const double factor = taeda::attention::scale_of(query, scale).to_double();
  attention::find_forward(query.dtype())(query, key, value, is_causal, attn_mask, factor, output,
                                         logsumexp);
}

}  // namespace taeda::cpu
