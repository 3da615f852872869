// Recurrent cells on the CPU: all gates of a step in one pass over rows.
#include "taeda/backends/cpu/recurrent/cells.h"

#include "taeda/backends/cpu/recurrent_declarations.h"
#include "taeda/base/isa.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/declarations.h"

namespace taeda::cpu {

#if defined(__x86_64__)
#  define TAEDA_CELL_ROWS(type)                                                         \
    extern const CellRows<type> type##_cell_rows_generic, type##_cell_rows_avx2,        \
        type##_cell_rows_avx512;                                                        \
    template <>                                                                         \
    const CellRows<type>& cell_rows<type>() {                                           \
      static const CellRows<type>* const sets[] = {                                     \
          &type##_cell_rows_generic, &type##_cell_rows_avx2, &type##_cell_rows_avx512}; \
      return *sets[isa_level()];                                                        \
    }
#else
#  define TAEDA_CELL_ROWS(type)                        \
    extern const CellRows<type> type##_cell_rows_neon; \
    template <>                                        \
    const CellRows<type>& cell_rows<type>() {          \
      return type##_cell_rows_neon;                    \
    }
#endif
TAEDA_CELL_ROWS(float)
TAEDA_CELL_ROWS(double)
#undef TAEDA_CELL_ROWS

namespace {

DType wide_dtype(const Tensor& t) {
  return t.dtype() == DType::Double ? DType::Double : DType::Float;
}
// An argument in rows of the compute type.
Tensor wide_rows(const Tensor& t) { return t.defined() ? t.to(wide_dtype(t)).contiguous() : t; }
Tensor wide_rows(const Tensor& gates, const Tensor& bias) {
  const Tensor wide = wide_rows(gates);
  return bias.defined() ? wide.add(wide_rows(bias)) : wide;
}
// Where a result of the compute type is written: itself, or a tensor to be rounded by `finish`.
Tensor wide_result(const Tensor& out) {
  return out.dtype() == wide_dtype(out) ? out : taeda::empty_like(out, wide_dtype(out));
}
void finish(const Tensor& wide, const Tensor& out) {
  if (!wide.is_same(out)) Tensor(out).copy_(wide);
}

template <class T>
T* data_of(const Tensor& t) {
  return t.defined() ? static_cast<T*>(t.data()) : nullptr;
}

// Calls row(r) for every row of n states.
template <class Row>
void each_row(int64_t rows, int64_t n, Row&& row) {
  parallel_for(0, rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)),
               [&](int64_t first, int64_t last) {
                 for (int64_t r = first; r < last; ++r) row(r);
               });
}

// Calls f with a value of the compute type.
template <class F>
void visit_wide(const Tensor& t, F&& f) {
  return t.dtype() == DType::Double ? f(double{}) : f(float{});
}

template <class T>
const T* row_of(const T* data, int64_t at) {
  return data ? data + at : nullptr;
}

void sum_rows(const Tensor& gates, const Tensor& bias) {
  const int64_t dims[] = {0};
  if (bias.defined()) Tensor(bias).copy_(gates.sum(IntList(dims)));
}

}  // namespace

void _thnn_fused_lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                           const Tensor& input_bias, const Tensor& hidden_bias, Tensor& out0,
                           Tensor& out1, Tensor& out2) {
  BelowADInplaceOrView guard;
  const Tensor input = wide_rows(input_gates, input_bias),
               hidden = wide_rows(hidden_gates, hidden_bias), state = wide_rows(cx),
               hy = wide_result(out0), cy = wide_result(out1), gates = wide_result(out2);
  const int64_t n = cx.size(1);
  visit_wide(cx, [&](auto zero) {
    using T = decltype(zero);
    each_row(cx.size(0), n, [&](int64_t r) {
      cell_rows<T>().lstm(n, data_of<T>(input) + 4 * r * n, data_of<T>(hidden) + 4 * r * n,
                          data_of<T>(state) + r * n, data_of<T>(hy) + r * n, data_of<T>(cy) + r * n,
                          data_of<T>(gates) + 4 * r * n);
    });
  });
  finish(hy, out0);
  finish(cy, out1);
  finish(gates, out2);
}

std::tuple<Tensor, Tensor, Tensor> _thnn_fused_lstm_cell_backward_impl(
    const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy,
    const Tensor& workspace, bool has_bias) {
  const auto results =
      impl::_thnn_fused_lstm_cell_backward_impl_meta(grad_hy, grad_cy, cx, cy, workspace, has_bias);
  const auto& [grad_gates, grad_cx, grad_bias] = results;
  if (!grad_gates.defined()) return results;
  BelowADInplaceOrView guard;
  const Tensor by_hidden = wide_rows(grad_hy), by_cell = wide_rows(grad_cy), before = wide_rows(cx),
               after = wide_rows(cy), gates = wide_rows(workspace),
               made_gates = wide_result(grad_gates), made_state = wide_result(grad_cx);
  const int64_t n = cx.size(1);
  visit_wide(cx, [&](auto zero) {
    using T = decltype(zero);
    each_row(cx.size(0), n, [&](int64_t r) {
      cell_rows<T>().lstm_backward(
          n, row_of(data_of<T>(by_hidden), r * n), row_of(data_of<T>(by_cell), r * n),
          data_of<T>(before) + r * n, data_of<T>(after) + r * n, data_of<T>(gates) + 4 * r * n,
          data_of<T>(made_gates) + 4 * r * n, data_of<T>(made_state) + r * n);
    });
  });
  finish(made_gates, grad_gates);
  finish(made_state, grad_cx);
  sum_rows(made_gates, grad_bias);
  return results;
}

void _thnn_fused_gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                          const Tensor& input_bias, const Tensor& hidden_bias, Tensor& out0,
                          Tensor& out1) {
  BelowADInplaceOrView guard;
  const Tensor input = wide_rows(input_gates, input_bias),
               hidden = wide_rows(hidden_gates, hidden_bias), state = wide_rows(hx),
               hy = wide_result(out0), kept = wide_result(out1);
  const int64_t n = hx.size(1);
  visit_wide(hx, [&](auto zero) {
    using T = decltype(zero);
    each_row(hx.size(0), n, [&](int64_t r) {
      cell_rows<T>().gru(n, data_of<T>(input) + 3 * r * n, data_of<T>(hidden) + 3 * r * n,
                         data_of<T>(state) + r * n, data_of<T>(hy) + r * n,
                         data_of<T>(kept) + 5 * r * n);
    });
  });
  finish(hy, out0);
  finish(kept, out1);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _thnn_fused_gru_cell_backward(
    const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
  const auto results = impl::_thnn_fused_gru_cell_backward_meta(grad_hy, workspace, has_bias);
  const auto& [grad_input, grad_hidden, grad_hx, grad_input_bias, grad_hidden_bias] = results;
  BelowADInplaceOrView guard;
  const Tensor grad = wide_rows(grad_hy), kept = wide_rows(workspace),
               input = wide_result(grad_input), hidden = wide_result(grad_hidden),
               state = wide_result(grad_hx);
  const int64_t n = grad_hy.size(1);
  visit_wide(grad_hy, [&](auto zero) {
    using T = decltype(zero);
    each_row(grad_hy.size(0), n, [&](int64_t r) {
      cell_rows<T>().gru_backward(n, data_of<T>(grad) + r * n, data_of<T>(kept) + 5 * r * n,
                                  data_of<T>(input) + 3 * r * n, data_of<T>(hidden) + 3 * r * n,
                                  data_of<T>(state) + r * n);
    });
  });
  finish(input, grad_input);
  finish(hidden, grad_hidden);
  finish(state, grad_hx);
  sum_rows(input, grad_input_bias);
  sum_rows(hidden, grad_hidden_bias);
  return results;
}

}  // namespace taeda::cpu
