// The table of recurrent cells' functions on rows, one per instruction set.
#pragma once

#include <cstdint>

namespace taeda::cpu {

// A row holds `n` states; gates lie beside each other, n elements each. Arguments in brackets may
// be null.
template <class T>
struct CellRows {
  // gates: in, forget, cell, out, as they act.
  void (*lstm)(int64_t n, const T* input, const T* hidden, const T* cx, T* hy, T* cy, T* gates);
  // [grad_hy], [grad_cy]
  void (*lstm_backward)(int64_t n, const T* grad_hy, const T* grad_cy, const T* cx, const T* cy,
                        const T* gates, T* grad_gates, T* grad_cx);
  // kept: reset, update, candidate, hx, and what the reset gate scaled.
  void (*gru)(int64_t n, const T* input, const T* hidden, const T* hx, T* hy, T* kept);
  void (*gru_backward)(int64_t n, const T* grad_hy, const T* kept, T* grad_input, T* grad_hidden,
                       T* grad_hx);
};

// Those of this machine, for float and double.
template <class T>
const CellRows<T>& cell_rows();

}  // namespace taeda::cpu
