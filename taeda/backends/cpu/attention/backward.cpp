// The gradients of attention on the CPU. The weights are made anew, block by block, from the
// logarithms of their sums.
//
// A task has some keys of one head and walks over the queries. Gradients of its keys and values are
// complete at the end; those of queries are where it has all keys of the head, and are else parts
// that are added in the order of keys. How keys are cut depends on the sizes alone.
#include <numeric>
#include <utility>
#include <vector>

#include "taeda/backends/cpu/attention/panels.h"
#include "taeda/backends/cpu/attention/rows.h"
#include "taeda/backends/cpu/attention_declarations.h"
#include "taeda/backends/cpu/gemm/scratch.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/attention/scores.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace attention {
namespace {

constexpr int64_t kPanels = 2;  // of queries in a block
constexpr int64_t kTasks = 16;  // wanted of a call with few heads

template <class T>
struct Gradients {
  Shape<T> shape;
  AddedMask<T> mask;
  Operand<const T> query, key, value, out, grad_out;
  Operand<T> grad_query, grad_key, grad_value;
  Tensor logsumexp;                          // in the accumulators' dtype
  int64_t block = 0, chunk = 0, chunks = 0;  // keys of a block, keys and number of tasks per head
  AccOf<T>* parts = nullptr;  // gradients of queries by task, where there are several per head
};

// Of a task: packed keys and values, and the sums of their gradients, a lane per key.
template <class T>
class KeySide {
 public:
  using Acc = AccOf<T>;
  KeySide(const Gradients<T>& g) : g_(g), s_(g.shape) {
    const int64_t blocks = (g.chunk + g.block - 1) / g.block;
    lanes_ = round_up(g.block, std::lcm(s_.mr, s_.nr));
    const size_t by_key = blocks * lanes_ * s_.width, by_width = blocks * lanes_ * s_.padded_width;
    Acc* next = scratch_array<Acc>(Scratch::PanelA, 2 * by_key + 3 * by_width);
    const auto take = [&](size_t count) { return std::exchange(next, next + count); };
    keys_ = take(by_key);
    values_ = take(by_key);
    turned_keys_ = take(by_width);
    grad_keys_ = take(by_width);
    grad_values_ = take(by_width);
    size_ = by_width;
  }
  void start(int64_t b, int64_t h, int64_t first, int64_t last) {
    first_ = first;
    last_ = last;
    std::fill_n(grad_keys_, size_, Acc(0));
    std::fill_n(grad_values_, size_, Acc(0));
    for (int64_t k = first; k < last; k += g_.block) {
      const int64_t count = std::min(g_.block, last - k);
      const auto pack = [&](const Matrix<const T>& m, Acc* to) {
        s_.kernels.pack(count, s_.width, m.data, m.row_stride, m.col_stride, s_.mr, to);
      };
      const Matrix<const T> key = g_.key.at(b, h, k);
      pack(key, keys_ + at(k) * s_.width);
      pack(g_.value.at(b, h, k), values_ + at(k) * s_.width);
      s_.kernels.pack(s_.width, count, key.data, key.col_stride, key.row_stride, s_.mr,
                      turned_keys_ + at(k) * s_.padded_width);
    }
  }
  const Acc* keys(int64_t k) const { return keys_ + at(k) * s_.width; }
  const Acc* values(int64_t k) const { return values_ + at(k) * s_.width; }
  const Acc* turned_keys(int64_t k) const { return turned_keys_ + at(k) * s_.padded_width; }
  // The sums of the panel of keys that starts at k.
  Acc* grad_keys(int64_t k) const { return grad_keys_ + at(k) * s_.padded_width; }
  Acc* grad_values(int64_t k) const { return grad_values_ + at(k) * s_.padded_width; }
  void finish(int64_t b, int64_t h, Acc* buffer) const {
    for (int64_t k = first_; k < last_; k += s_.nr) {
      const int64_t lanes = std::min<int64_t>(s_.nr, last_ - k);
      store_turned<T>(s_.width, lanes, grad_keys(k), g_.grad_key.at(b, h, k), buffer);
      store_turned<T>(s_.width, lanes, grad_values(k), g_.grad_value.at(b, h, k), buffer);
    }
  }

 private:
  // Blocks are whole numbers of panels, so a key's place is the same in all of them.
  int64_t at(int64_t k) const { return k - first_; }

  const Gradients<T>& g_;
  const Shape<T>& s_;
  int64_t lanes_ = 0, first_ = 0, last_ = 0;
  size_t size_ = 0;
  Acc *keys_, *values_, *turned_keys_, *grad_keys_, *grad_values_;
};

// Of a block of queries: the operands in all forms that products need, and their gradients' sums.
template <class T>
class QuerySide {
 public:
  using Acc = AccOf<T>;
  QuerySide(const Gradients<T>& g) : g_(g), s_(g.shape), rows_(attention_rows<Acc>()) {
    const size_t lanes = kPanels * s_.nr, scores = round_up(g.block, s_.mr) * lanes;
    const size_t by_query = s_.width * lanes, by_width = s_.padded_width * lanes;
    const size_t turned = round_up(s_.width, s_.nr) * s_.nr;
    Acc* next =
        scratch_array<Acc>(Scratch::PanelB, 3 * by_query + 3 * by_width + 5 * scores + turned);
    const auto take = [&](size_t count) { return std::exchange(next, next + count); };
    query_ = take(by_query);
    grad_out_ = take(by_query);
    out_ = take(by_query);
    turned_query_ = take(by_width);
    turned_grad_out_ = take(by_width);
    grad_query_ = take(by_width);
    weights_ = take(scores);
    changes_ = take(scores);
    turned_weights_ = take(scores);
    turned_changes_ = take(scores);
    mask_ = take(scores);
    buffer_ = take(turned);
  }
  Acc* buffer() const { return buffer_; }

  void start(int64_t b, int64_t h, int64_t first, int64_t count) {
    b_ = b;
    h_ = h;
    first_ = first;
    count_ = count;
    const Matrix<const T> query = g_.query.at(b, h, first), grad = g_.grad_out.at(b, h, first);
    const auto pack = [&](const Matrix<const T>& m, Acc* to) {
      s_.kernels.pack(count, s_.width, m.data, m.row_stride, m.col_stride, s_.nr, to);
    };
    const auto pack_turned = [&](const Matrix<const T>& m, Acc* to) {
      s_.kernels.pack(s_.width, count, m.data, m.col_stride, m.row_stride, s_.mr, to);
    };
    pack(query, query_);
    pack(grad, grad_out_);
    pack(g_.out.at(b, h, first), out_);
    pack_turned(query, turned_query_);
    pack_turned(grad, turned_grad_out_);
    std::fill_n(grad_query_, kPanels * s_.padded_width * s_.nr, Acc(0));
    const Acc* const sums = static_cast<const Acc*>(g_.logsumexp.data()) +
                            b * g_.logsumexp.stride(0) + h * g_.logsumexp.stride(1);
    for (int64_t p = 0; p < panels(); ++p)
      rows_.dot_lanes(s_.width, s_.nr, grad_out_ + p * s_.width * s_.nr,
                      out_ + p * s_.width * s_.nr, delta_ + p * s_.nr);
    for (int64_t j = 0; j < panels() * s_.nr; ++j)
      logsumexp_[j] = j < count ? sums[(first + j) * g_.logsumexp.stride(2)] : Acc(0);
  }
  int64_t panels() const { return (count_ + s_.nr - 1) / s_.nr; }

  // Adds what these queries and the first `keys` of a block of keys give each other.
  void visit(const KeySide<T>& from, int64_t first_key, int64_t keys, int64_t block_keys) {
    const int nr = s_.nr;
    const int64_t panel_scores = round_up(keys, s_.mr) * nr;
    for (int64_t p = 0; p < panels(); ++p) {
      Acc* const weights = weights_ + p * panel_scores;
      Acc* const changes = changes_ + p * panel_scores;
      weigh(p, from, first_key, keys, weights, changes);
      multiply_panels<T>(s_.kernels, s_.width, keys, from.turned_keys(first_key), block_keys,
                         changes, Acc(1), Acc(1), grad_query_ + p * s_.padded_width * nr);
      turn(p, keys, weights, turned_weights_);
      turn(p, keys, changes, turned_changes_);
    }
    for (int64_t k = 0; k < keys; k += nr) {
      const int64_t at = k * panels() * nr;
      multiply_panels<T>(s_.kernels, s_.width, count_, turned_grad_out_, count_,
                         turned_weights_ + at, Acc(1), Acc(1), from.grad_values(first_key + k));
      multiply_panels<T>(s_.kernels, s_.width, count_, turned_query_, count_, turned_changes_ + at,
                         Acc(1), Acc(1), from.grad_keys(first_key + k));
    }
  }

  void finish(int64_t task_of_head) const {
    for (int64_t p = 0; p < panels(); ++p) {
      const int64_t first = first_ + p * s_.nr,
                    lanes = std::min<int64_t>(s_.nr, count_ - p * s_.nr);
      const Acc* const panel = grad_query_ + p * s_.padded_width * s_.nr;
      if (!g_.parts) {
        store_turned<T>(s_.width, lanes, panel, g_.grad_query.at(b_, h_, first), buffer_);
        continue;
      }
      const int64_t row = ((task_of_head * s_.batch + b_) * s_.heads + h_) * s_.queries + first;
      store_turned<Acc>(s_.width, lanes, panel, {g_.parts + row * s_.width, s_.width, 1}, buffer_);
    }
  }

 private:
  // The weights of a panel's queries for a block of keys, and the gradients of its scores.
  void weigh(int64_t p, const KeySide<T>& from, int64_t first_key, int64_t keys, Acc* weights,
             Acc* changes) {
    const int nr = s_.nr;
    const int64_t first = first_ + p * nr, lanes = std::min<int64_t>(nr, count_ - p * nr);
    multiply_panels<T>(s_.kernels, keys, s_.width, from.keys(first_key), s_.width,
                       query_ + p * s_.width * nr, s_.scale, Acc(0), weights);
    multiply_panels<T>(s_.kernels, keys, s_.width, from.values(first_key), s_.width,
                       grad_out_ + p * s_.width * nr, Acc(1), Acc(0), changes);
    if (g_.mask.is_defined()) g_.mask.fill(b_, h_, first, lanes, first_key, keys, mask_);
    if (s_.is_causal) hide_later_keys(first, first_key, keys, nr, weights);
    rows_.backward_step(keys, nr, weights, changes, g_.mask.is_defined() ? mask_ : nullptr,
                        logsumexp_ + p * nr, delta_ + p * nr, s_.scale);
  }
  // A panel with a lane per query as panels with a lane per key, beside those of other queries.
  void turn(int64_t p, int64_t keys, const Acc* panel, Acc* to) const {
    const int nr = s_.nr;
    for (int64_t k = 0; k < keys; k += nr)
      gemm_kernels::kernels().get<Acc>().pack(std::min<int64_t>(nr, keys - k), nr, panel + k * nr,
                                              nr, 1, nr, to + (k * panels() + p * nr) * nr);
  }

  const Gradients<T>& g_;
  const Shape<T>& s_;
  const AttentionRows<Acc>& rows_;
  int64_t b_ = 0, h_ = 0, first_ = 0, count_ = 0;
  Acc *query_, *grad_out_, *out_, *turned_query_, *turned_grad_out_, *grad_query_;
  Acc *weights_, *changes_, *turned_weights_, *turned_changes_, *mask_, *buffer_;
  alignas(64) Acc logsumexp_[kPanels * kMaxLanes];
  alignas(64) Acc delta_[kPanels * kMaxLanes];
};

template <class T>
void run_tasks(const Gradients<T>& g) {
  const Shape<T>& s = g.shape;
  const int64_t step = kPanels * s.nr;
  parallel_for(0, s.batch * s.shared_heads * g.chunks, 1, [&](int64_t begin, int64_t end) {
    KeySide<T> keys(g);
    QuerySide<T> queries(g);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % g.chunks, b = task / g.chunks / s.shared_heads;
      const int64_t shared = task / g.chunks % s.shared_heads;
      const int64_t first_key = part * g.chunk, last_key = std::min(s.keys, first_key + g.chunk);
      keys.start(b, shared, first_key, last_key);
      for (int64_t i = 0; i < s.heads_per_key(); ++i)
        for (int64_t q = 0; q < s.queries; q += step) {
          const int64_t count = std::min(step, s.queries - q);
          queries.start(b, shared * s.heads_per_key() + i, q, count);
          const int64_t seen = s.is_causal ? std::min(last_key, q + count) : last_key;
          for (int64_t k = first_key; k < seen; k += g.block)
            queries.visit(keys, k, std::min(g.block, seen - k), std::min(g.block, last_key - k));
          queries.finish(part);
        }
      keys.finish(b, shared, queries.buffer());
    }
  });
}

// Adds the parts of queries' gradients in the order of keys.
template <class T>
void add_parts(const Gradients<T>& g) {
  using Acc = AccOf<T>;
  const Shape<T>& s = g.shape;
  const int64_t rows = s.batch * s.heads * s.queries, grain = 1 + 16384 / (1 + s.width * g.chunks);
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Acc* const total = g.parts + r * s.width;
      for (int64_t part = 1; part < g.chunks; ++part) {
        const Acc* const from = total + part * rows * s.width;
        for (int64_t d = 0; d < s.width; ++d) total[d] += from[d];
      }
      const int64_t b = r / s.queries / s.heads, h = r / s.queries % s.heads;
      s.kernels.store(1, s.width, total, s.width, Acc(1), Acc(0),
                      g.grad_query.at(b, h, r % s.queries), nullptr);
    }
  });
}

template <class T>
void backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& out, const Tensor& logsumexp, bool is_causal, const Tensor& attn_mask,
              double scale, Tensor& grad_query, Tensor& grad_key, Tensor& grad_value) {
  using Acc = AccOf<T>;
  Gradients<T> g{Shape<T>(query, key, is_causal, scale),
                 AddedMask<T>(attn_mask, query, key),
                 Operand<const T>(query),
                 Operand<const T>(key),
                 Operand<const T>(value),
                 Operand<const T>(out),
                 Operand<const T>(grad_out),
                 Operand<T>(grad_query),
                 Operand<T>(grad_key),
                 Operand<T>(grad_value),
                 logsumexp};
  const Shape<T>& s = g.shape;
  const int64_t unit = std::lcm(s.mr, s.nr);
  g.block = round_up(96, unit);
  const int64_t blocks = std::max<int64_t>(1, (s.keys + g.block - 1) / g.block);
  const int64_t wanted = (kTasks + s.batch * s.shared_heads - 1) / (s.batch * s.shared_heads);
  g.chunk = (blocks + std::min(wanted, blocks) - 1) / std::min(wanted, blocks) * g.block;
  g.chunks = std::max<int64_t>(1, (s.keys + g.chunk - 1) / g.chunk);
  std::vector<Acc> parts;
  if (g.chunks > 1) {
    parts.resize(g.chunks * s.batch * s.heads * s.queries * s.width);
    g.parts = parts.data();
  }
  run_tasks(g);
  if (g.parts) add_parts(g);
}

}  // namespace
}  // namespace attention

void _scaled_dot_product_flash_attention_for_cpu_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& out, const Tensor& logsumexp, double, bool is_causal, const Tensor& attn_mask,
    std::optional<double> scale, Tensor& grad_query, Tensor& grad_key, Tensor& grad_value) {
  BelowADInplaceOrView guard;
  if (query.numel() == 0 || key.numel() == 0) {
    for (Tensor* t : {&grad_query, &grad_key, &grad_value}) t->zero_();
    return;
  }
  const double factor = taeda::attention::scale_of(query, scale).to_double();
  const auto run = query.dtype() == DType::Double     ? &attention::backward<double>
                   : query.dtype() == DType::BFloat16 ? &attention::backward<BFloat16>
                   : query.dtype() == DType::Half     ? &attention::backward<Half>
                                                      : &attention::backward<float>;
  run(grad_out.to(query.dtype()), query, key, value, out, logsumexp, is_causal, attn_mask, factor,
      grad_query, grad_key, grad_value);
}

}  // namespace taeda::cpu
