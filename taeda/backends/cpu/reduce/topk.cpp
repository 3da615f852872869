// The k greatest or least elements of lines: a scan that keeps the best in a heap.
#pragma GCC optimize("O3")
#include <algorithm>
#include <memory>

#include "taeda/backends/cpu/reduce/lines.h"
#include "taeda/backends/cpu/reduce/sort_key.h"
#include "taeda/backends/cpu/scan_sort_declarations.h"

namespace taeda::cpu {
namespace {

// A key with its position; greater keys are better, and of equal ones the first.
struct PackedCandidate {
  uint64_t word;
  static PackedCandidate make(uint32_t key, int64_t index) {
    return {uint64_t{key} << 32 | (UINT32_MAX - static_cast<uint32_t>(index))};
  }
  uint32_t key() const { return static_cast<uint32_t>(word >> 32); }
  int64_t index() const { return UINT32_MAX - static_cast<uint32_t>(word); }
  bool is_better(PackedCandidate o) const { return word > o.word; }
};
struct WideCandidate {
  uint64_t wide_key;
  int64_t position;
  static WideCandidate make(uint64_t key, int64_t index) { return {key, index}; }
  uint64_t key() const { return wide_key; }
  int64_t index() const { return position; }
  bool is_better(const WideCandidate& o) const {
    return wide_key != o.wide_key ? wide_key > o.wide_key : position < o.position;
  }
};
struct Better {
  template <class C>
  bool operator()(const C& a, const C& b) const {
    return a.is_better(b);
  }
};

// The k best so far, as a heap whose root is the worst of them.
template <class C>
class Selection {
 public:
  explicit Selection(int64_t k) : k_(k), heap_(std::make_unique_for_overwrite<C[]>(k)) {}
  void start() { count_ = 0; }
  bool is_full() const { return count_ == k_; }
  const C& worst() const { return heap_[0]; }
  void add(const C& c) {
    heap_[count_++] = c;
    if (is_full()) std::make_heap(heap_.get(), heap_.get() + k_, Better());
  }
  void replace_worst(const C& c) {
    int64_t at = 0;
    for (int64_t child = 1; child < k_; child = 2 * at + 1) {
      if (child + 1 < k_ && heap_[child].is_better(heap_[child + 1])) ++child;
      if (!c.is_better(heap_[child])) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = c;
  }
  const C* finish(bool is_sorted) {
    if (is_sorted) std::sort(heap_.get(), heap_.get() + k_, Better());
    return heap_.get();
  }

 private:
  int64_t k_, count_ = 0;
  std::unique_ptr<C[]> heap_;
};

// Whether some of a block's elements may pass the threshold; NaN always may.
template <class T, int64_t kBlock>
bool has_hit(const T* p, T threshold, bool is_largest) {
  int hits = 0;
  if (is_largest) {
    for (int64_t j = 0; j < kBlock; ++j) hits |= !(p[j] <= threshold);
  } else {
    for (int64_t j = 0; j < kBlock; ++j) hits |= !(p[j] >= threshold);
  }
  return hits != 0;
}

template <class T, class C>
void select_line(const char* in, int64_t stride, int64_t n, bool is_largest,
                 Selection<C>& selection) {
  using K = SortKey<T>;
  constexpr int64_t kBlock = 16;
  const K flip = is_largest ? K(0) : ~K(0);
  auto candidate = [&](int64_t i) {
    return C::make(static_cast<K>(sort_key(*reinterpret_cast<const T*>(in + i * stride))) ^ flip,
                   i);
  };
  selection.start();
  int64_t i = 0;
  for (; !selection.is_full(); ++i) selection.add(candidate(i));
  while (i < n) {
    const int64_t end = std::min(n, i + kBlock);
    if constexpr (std::is_arithmetic_v<T>) {
      // Most blocks of a long line hold nothing that counts, and plain comparisons show it.
      if (end - i == kBlock && stride == static_cast<int64_t>(sizeof(T))) {
        const T* p = reinterpret_cast<const T*>(in);
        if (!has_hit<T, kBlock>(p + i, p[selection.worst().index()], is_largest)) {
          i = end;
          continue;
        }
      }
    }
    for (; i < end; ++i) {
      const C c = candidate(i);
      if (c.is_better(selection.worst())) selection.replace_worst(c);
    }
  }
}

// Short lines: PyTorch's choice of algorithms, so that ties fall as they do there. Moves the k best
// to the front.
void choose_best(WideCandidate* line, int64_t n, int64_t k, bool is_sorted) {
  auto is_greater = [](const WideCandidate& a, const WideCandidate& b) {
    return a.wide_key > b.wide_key;
  };
  if (k * 64 <= n) {
    std::partial_sort(line, line + k, line + n, is_greater);
    return;
  }
  std::nth_element(line, line + k - 1, line + n, is_greater);
  if (is_sorted) std::sort(line, line + k - 1, is_greater);
}

template <class T>
void read_line(const char* in, int64_t stride, int64_t n, bool is_largest, WideCandidate* line) {
  using K = SortKey<T>;
  const K flip = is_largest ? K(0) : ~K(0);
  for (int64_t i = 0; i < n; ++i)
    line[i] = {static_cast<K>(
                   static_cast<K>(sort_key(*reinterpret_cast<const T*>(in + i * stride))) ^ flip),
               i};
}

constexpr int64_t kShortChoice = 256;

template <class T, class C>
void select_lines(const LineSpace& space, int64_t k, bool is_largest, bool is_sorted) {
  const int64_t n = space.length[0];
  for_panels(space, 1, 4 * n, [&](auto&& panels) {
    Selection<C> selection(k);
    panels([&](char* const* at, int64_t) {
      auto write = [&](const auto* best) {
        for (int64_t i = 0; i < k; ++i) {
          *reinterpret_cast<T*>(at[1] + i * space.along[1]) =
              *reinterpret_cast<const T*>(at[0] + best[i].index() * space.along[0]);
          *reinterpret_cast<int64_t*>(at[2] + i * space.along[2]) = best[i].index();
        }
      };
      if (n <= kShortChoice) {
        WideCandidate line[kShortChoice];
        read_line<T>(at[0], space.along[0], n, is_largest, line);
        choose_best(line, n, k, is_sorted);
        write(line);
      } else {
        select_line<T>(at[0], space.along[0], n, is_largest, selection);
        write(selection.finish(is_sorted));
      }
    });
  });
}

}  // namespace

void topk(const Tensor& self, SymInt k, int64_t dim, bool largest, bool sorted, Tensor& values,
          Tensor& indices) {
  // A scalar has one element, whatever k says.
  const int64_t count = self.dim() == 0 ? 1 : k.expect_int();
  if (count == 0 || self.numel() == 0) return;
  // The heap reads a line after the first results of it are written.
  const Tensor kept = values.storage() == self.storage() ? self.clone() : self;
  const Tensor* const tensors[] = {&kept, &values, &indices};
  const LineSpace space(tensors, wrap_dim(dim, self.dim()));
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>) {
      if constexpr (sizeof(SortKey<T>) == 4) {
        if (space.length[0] <= int64_t{UINT32_MAX})
          return select_lines<T, PackedCandidate>(space, count, largest, sorted);
      }
      select_lines<T, WideCandidate>(space, count, largest, sorted);
    }
  });
}

}  // namespace taeda::cpu
