// The table of row functions with numbers per channel, one per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

namespace taeda::cpu {

// Numbers of the elements of a row: one for all of them, or one per element.
template <class T>
struct RowNumbers {
  const T* at;
  bool is_one;
};

// Rows of n > 0 elements; outputs may be their inputs. All numbers of a call are of one kind.
template <class T>
struct ChannelRows {
  // (x - center) * scale + shift
  void (*scale_and_shift)(const T* x, T* out, int64_t n, RowNumbers<T> center, RowNumbers<T> scale,
                          RowNumbers<T> shift);
  // (grad - mean - (x - center) * slope) * scale
  void (*batch_gradient)(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> mean,
                         RowNumbers<T> center, RowNumbers<T> slope, RowNumbers<T> scale);
  // grad * scale + (x - center) * slope + shift
  void (*group_gradient)(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> scale,
                         RowNumbers<T> center, RowNumbers<T> slope, RowNumbers<T> shift);
  // grad * (x - center)
  void (*deviation_products)(const T* grad, const T* x, T* out, int64_t n, RowNumbers<T> center);
  // The sum of grad and that of grad * (x - center) over rows of `length` elements, `pitch` apart,
  // each in the order of Note [Reduction tree] over the elements of all rows.
  void (*gradient_sums)(const T* grad, const T* x, int64_t rows, int64_t length, int64_t pitch,
                        T center, T* sum, T* product);
};

// Those of this machine, for float and double.
template <class T>
const ChannelRows<T>& channel_rows();

}  // namespace taeda::cpu
