// Recurrent cells on rows in one instruction set.
#include "taeda/backends/cpu/recurrent/cells.h"

#include "taeda/kernel/vec.h"

namespace taeda::cpu {
namespace {

using namespace kernel;

// Calls step(V, i) for vectors, then for single elements.
template <class T, class Body>
void each(int64_t n, Body&& step) {
  int64_t i = 0;
  for (; i + Vec<T>::kWidth <= n; i += Vec<T>::kWidth) step(Vec<T>(), i);
  for (; i < n; ++i) step(Vec<One<T>>(), i);
}

template <class V>
TD_FN V logistic(V x) {
  return V(1) / (V(1) + exp(-x));
}
template <class V>
TD_FN V logistic_slope(V y) {
  return y * (V(1) - y);
}

template <class T>
void lstm(int64_t n, const T* input, const T* hidden, const T* cx, T* hy, T* cy, T* gates) {
  each<T>(n, [&](auto v, int64_t i) {
    using V = decltype(v);
    const auto sum = [&](int64_t gate) {
      return V::load(input + gate * n + i) + V::load(hidden + gate * n + i);
    };
    const V in = logistic(sum(0)), forget = logistic(sum(1)), cell = tanh(sum(2)),
            out = logistic(sum(3));
    const V state = forget * V::load(cx + i) + in * cell;
    (out * tanh(state)).store(hy + i);
    state.store(cy + i);
    in.store(gates + i);
    forget.store(gates + n + i);
    cell.store(gates + 2 * n + i);
    out.store(gates + 3 * n + i);
  });
}

template <class T>
void lstm_backward(int64_t n, const T* grad_hy, const T* grad_cy, const T* cx, const T* cy,
                   const T* gates, T* grad_gates, T* grad_cx) {
  each<T>(n, [&](auto v, int64_t i) {
    using V = decltype(v);
    const auto gate = [&](int64_t g) { return V::load(gates + g * n + i); };
    const V in = gate(0), forget = gate(1), cell = gate(2), out = gate(3);
    const V grad = grad_hy ? V::load(grad_hy + i) : V(0), made = tanh(V::load(cy + i));
    V state = grad * out * (V(1) - made * made);
    if (grad_cy) state = state + V::load(grad_cy + i);
    (state * cell * logistic_slope(in)).store(grad_gates + i);
    (state * V::load(cx + i) * logistic_slope(forget)).store(grad_gates + n + i);
    (state * in * (V(1) - cell * cell)).store(grad_gates + 2 * n + i);
    (grad * made * logistic_slope(out)).store(grad_gates + 3 * n + i);
    (state * forget).store(grad_cx + i);
  });
}

template <class T>
void gru(int64_t n, const T* input, const T* hidden, const T* hx, T* hy, T* kept) {
  each<T>(n, [&](auto v, int64_t i) {
    using V = decltype(v);
    const auto part = [&](const T* p, int64_t gate) { return V::load(p + gate * n + i); };
    const V reset = logistic(part(input, 0) + part(hidden, 0)),
            update = logistic(part(input, 1) + part(hidden, 1)), scaled = part(hidden, 2),
            before = V::load(hx + i);
    const V candidate = tanh(part(input, 2) + reset * scaled);
    (candidate + update * (before - candidate)).store(hy + i);
    reset.store(kept + i);
    update.store(kept + n + i);
    candidate.store(kept + 2 * n + i);
    before.store(kept + 3 * n + i);
    scaled.store(kept + 4 * n + i);
  });
}

template <class T>
void gru_backward(int64_t n, const T* grad_hy, const T* kept, T* grad_input, T* grad_hidden,
                  T* grad_hx) {
  each<T>(n, [&](auto v, int64_t i) {
    using V = decltype(v);
    const auto part = [&](int64_t k) { return V::load(kept + k * n + i); };
    const V reset = part(0), update = part(1), made = part(2), grad = V::load(grad_hy + i);
    const V candidate = grad * (V(1) - update) * (V(1) - made * made);
    const V by_reset = candidate * part(4) * logistic_slope(reset);
    const V by_update = grad * (part(3) - made) * logistic_slope(update);
    for (T* to : {grad_input, grad_hidden}) {
      by_reset.store(to + i);
      by_update.store(to + n + i);
    }
    candidate.store(grad_input + 2 * n + i);
    (candidate * reset).store(grad_hidden + 2 * n + i);
    (grad * update).store(grad_hx + i);
  });
}

template <class T>
constexpr CellRows<T> kCells = {&lstm<T>, &lstm_backward<T>, &gru<T>, &gru_backward<T>};

}  // namespace

#define TAEDA_JOIN_OF(name, isa) name##isa
#define TAEDA_JOIN(name, isa) TAEDA_JOIN_OF(name, isa)
extern const CellRows<float> TAEDA_JOIN(float_cell_rows_, TAEDA_ISA);
constinit const CellRows<float> TAEDA_JOIN(float_cell_rows_, TAEDA_ISA) = kCells<float>;
extern const CellRows<double> TAEDA_JOIN(double_cell_rows_, TAEDA_ISA);
constinit const CellRows<double> TAEDA_JOIN(double_cell_rows_, TAEDA_ISA) = kCells<double>;

}  // namespace taeda::cpu
