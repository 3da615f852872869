// Slices copied or added between a plain and an indexed tensor: long rows at once, single elements
// by offset.
#pragma GCC optimize("O3")
#include "taeda/backends/cpu/index/slice_map.h"

#include <algorithm>
#include <cstring>

#include "taeda/base/parallel.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kGrain = 32768;      // elements a thread is worth waking up for
constexpr int64_t kSplitBytes = 1024;  // slices of at least this size are divided among threads

// Where the elements of a row or of a list of positions lie: by stride, or by offset where there
// are any.
struct Points {
  char* base;
  const int64_t* offsets;
  int64_t stride;
  char* at(int64_t p) const { return base + (offsets ? offsets[p] : p * stride); }
};

template <class T>
struct Assign {
  static void apply(T& place, const T& value, T) { place = value; }
};
template <class T>
struct AddScaled {
  static void apply(T& place, const T& value, T alpha) {
    if constexpr (std::is_same_v<T, bool>)
      place = place || (alpha && value);
    else
      place = static_cast<T>(place + alpha * value);
  }
};

// Read once, before stores that might touch it.
template <class T>
T number_at(const void* p) {
  return p ? *static_cast<const T*>(p) : T();
}

template <class T, class Op>
void run_row(char* dst, const char* src, int64_t n, int64_t ds, int64_t ss,
             const void* given_alpha) {
  const T alpha = number_at<T>(given_alpha);
  if (ds == sizeof(T) && ss == sizeof(T)) {
    if constexpr (std::is_same_v<Op, Assign<T>>) {
      std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    } else {
      T* __restrict to = reinterpret_cast<T*>(dst);
      const T* __restrict from = reinterpret_cast<const T*>(src);
      for (int64_t i = 0; i < n; ++i) Op::apply(to[i], from[i], alpha);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    Op::apply(*reinterpret_cast<T*>(dst + i * ds), *reinterpret_cast<const T*>(src + i * ss),
              alpha);
}

template <class T, class Op>
void run_points(const Points& dst, const Points& src, int64_t first, int64_t last,
                const void* given_alpha) {
  const T alpha = number_at<T>(given_alpha);
  for (int64_t p = first; p < last; ++p)
    Op::apply(*reinterpret_cast<T*>(dst.at(p)), *reinterpret_cast<const T*>(src.at(p)), alpha);
}

}  // namespace

struct SliceMap::Rows {
  void (*row)(char* dst, const char* src, int64_t n, int64_t ds, int64_t ss, const void* alpha);
  void (*points)(const Points& dst, const Points& src, int64_t first, int64_t last,
                 const void* alpha);

  template <class T, class Op>
  static Rows of() {
    return {&run_row<T, Op>, &run_points<T, Op>};
  }
  static Rows assign(int64_t item) {
    switch (item) {
      case 1: return of<uint8_t, Assign<uint8_t>>();
      case 2: return of<uint16_t, Assign<uint16_t>>();
      case 4: return of<uint32_t, Assign<uint32_t>>();
      case 8: return of<uint64_t, Assign<uint64_t>>();
      default: return of<Complex<double>, Assign<Complex<double>>>();
    }
  }
};

namespace {

// A run of slice elements: its number and where it starts on both sides.
template <class F>
void for_runs(const LoopNest& nest, int64_t first, int64_t last, F&& f) {
  const int64_t cols = nest.sizes[0];
  while (first < last) {
    const int64_t col = first % cols, n = std::min(cols - col, last - first);
    int64_t rest = first / cols, plain = col * nest.strides[0][0],
            indexed = col * nest.strides[1][0];
    for (size_t d = 1; d < nest.sizes.size(); rest /= nest.sizes[d], ++d) {
      plain += rest % nest.sizes[d] * nest.strides[0][d];
      indexed += rest % nest.sizes[d] * nest.strides[1][d];
    }
    f(plain, indexed, n);
    first += n;
  }
}

bool has_rows(const LoopNest& nest, int64_t item) {
  return nest.sizes[0] > 1 && nest.strides[1][0] == item &&
         (nest.strides[0][0] == item || nest.strides[0][0] == 0);
}

}  // namespace

SliceMap::SliceMap(const Tensor& plain, int64_t place, int64_t index_ndim, const Tensor& indexed,
                   IntList kept, std::vector<int64_t> offsets)
    : offsets_(std::move(offsets)), dtype_(plain.dtype()) {
  if (offsets_.empty()) return;
  const int64_t item = plain.element_size();
  IntVec sizes, plain_strides, indexed_strides;
  for (int64_t d : kept) {
    sizes.push_back(indexed.sizes()[d]);
    indexed_strides.push_back(indexed.strides()[d]);
  }
  for (int64_t d = 0; d < plain.dim(); ++d)
    if (d < place || d >= place + index_ndim) plain_strides.push_back(plain.strides()[d]);
  nest_.add(make_alias(plain, sizes, plain_strides, plain.storage_offset()), sizes);
  nest_.add(make_alias(indexed, sizes, indexed_strides, indexed.storage_offset()), sizes);
  nest_.finish(sizes);
  // One stride for all positions where the plain side's index dimensions merge, else an offset
  // each.
  const IntList index_sizes =
      plain.sizes().slice(static_cast<size_t>(place), static_cast<size_t>(index_ndim));
  const IntList index_strides =
      plain.strides().slice(static_cast<size_t>(place), static_cast<size_t>(index_ndim));
  int64_t merged = 1;
  bool can_merge = true;
  for (size_t i = index_sizes.size(); i-- > 0;) {
    if (index_sizes[i] == 1) continue;
    if (merged == 1)
      plain_stride_ = index_strides[i] * item;
    else
      can_merge = can_merge && index_strides[i] * item == merged * plain_stride_;
    merged *= index_sizes[i];
  }
  if (can_merge) return;
  plain_offsets_.resize(offsets_.size());
  for (size_t p = 0; p < offsets_.size(); ++p) {
    int64_t rest = static_cast<int64_t>(p), at = 0;
    for (size_t d = index_sizes.size(); d-- > 0; rest /= index_sizes[d])
      at += rest % index_sizes[d] * index_strides[d];
    plain_offsets_[p] = at * item;
  }
}

void SliceMap::read() const {
  const int64_t item = item_size(dtype_), positions = static_cast<int64_t>(offsets_.size()),
                slice = nest_.numel;
  if (positions == 0 || slice == 0) return;
  const Rows ops = Rows::assign(item);
  const int64_t* plain_offsets = plain_offsets_.empty() ? nullptr : plain_offsets_.data();
  const auto &ps = nest_.strides[0], &xs = nest_.strides[1];
  if (has_rows(nest_, item)) {
    parallel_for(0, positions * slice, kGrain, [&](int64_t first, int64_t last) {
      while (first < last) {
        const int64_t p = first / slice, start = first % slice,
                      end = std::min(slice, start + last - first);
        for_runs(nest_, start, end, [&](int64_t plain, int64_t indexed, int64_t n) {
          ops.row(nest_.base[0] + plain_at(p) + plain, nest_.base[1] + offsets_[p] + indexed, n,
                  ps[0], xs[0], nullptr);
        });
        first += end - start;
      }
    });
    return;
  }
  parallel_for(0, slice * positions, kGrain, [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t s = first / positions, start = first % positions,
                    end = std::min(positions, start + last - first);
      for_runs(nest_, s, s + 1, [&](int64_t plain, int64_t indexed, int64_t) {
        ops.points({nest_.base[0] + plain, plain_offsets, plain_stride_},
                   {nest_.base[1] + indexed, offsets_.data(), 0}, start, end, nullptr);
      });
      first += end - start;
    }
  });
}

// All positions, in order, for the slice elements [first, last).
void SliceMap::scatter_slices(const Rows& ops, const void* alpha, int64_t first,
                              int64_t last) const {
  const auto &ps = nest_.strides[0], &xs = nest_.strides[1];
  const int64_t positions = static_cast<int64_t>(offsets_.size());
  if (has_rows(nest_, item_size(dtype_))) {
    for (int64_t p = 0; p < positions; ++p)
      for_runs(nest_, first, last, [&](int64_t plain, int64_t indexed, int64_t n) {
        ops.row(nest_.base[1] + offsets_[p] + indexed, nest_.base[0] + plain_at(p) + plain, n,
                xs[0], ps[0], alpha);
      });
    return;
  }
  const int64_t* plain_offsets = plain_offsets_.empty() ? nullptr : plain_offsets_.data();
  for (int64_t s = first; s < last; ++s)
    for_runs(nest_, s, s + 1, [&](int64_t plain, int64_t indexed, int64_t) {
      ops.points({nest_.base[1] + indexed, offsets_.data(), 0},
                 {nest_.base[0] + plain, plain_offsets, plain_stride_}, 0, positions, alpha);
    });
}

// Whole slices for the positions, in order, whose offset lies in [low, high).
void SliceMap::scatter_range(const Rows& ops, const void* alpha, int64_t low, int64_t high) const {
  const auto &ps = nest_.strides[0], &xs = nest_.strides[1];
  for (size_t p = 0; p < offsets_.size(); ++p) {
    if (offsets_[p] < low || offsets_[p] >= high) continue;
    const int64_t from = plain_at(static_cast<int64_t>(p));
    for_runs(nest_, 0, nest_.numel, [&](int64_t plain, int64_t indexed, int64_t n) {
      ops.row(nest_.base[1] + offsets_[p] + indexed, nest_.base[0] + from + plain, n, xs[0], ps[0],
              alpha);
    });
  }
}

// Threads own destinations, never positions, so that duplicates meet in one thread.
void SliceMap::scatter(const Rows& ops, const void* alpha) const {
  const int64_t positions = static_cast<int64_t>(offsets_.size()), slice = nest_.numel;
  if (positions == 0 || slice == 0) return;
  if (slice * item_size(dtype_) >= kSplitBytes || positions * slice <= kGrain) {
    const int64_t grain = std::max<int64_t>(kSplitBytes / item_size(dtype_), kGrain / positions);
    parallel_for(0, slice, grain,
                 [&](int64_t first, int64_t last) { scatter_slices(ops, alpha, first, last); });
    return;
  }
  const auto [least, most] = std::minmax_element(offsets_.begin(), offsets_.end());
  const int64_t low = *least, parts = num_threads(), width = (*most - low) / parts + 1;
  if (parts == 1) return scatter_slices(ops, alpha, 0, slice);
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    scatter_range(ops, alpha, low + first * width, low + last * width);
  });
}

void SliceMap::write() const { scatter(Rows::assign(item_size(dtype_)), nullptr); }

void SliceMap::add(const Scalar& alpha) const {
  visit_dtype(dtype_, [&](auto tag) {
    using T = decltype(tag);
    const T scale = alpha.to<T>();
    scatter(Rows::of<T, AddScaled<T>>(), &scale);
  });
}

}  // namespace taeda::cpu
