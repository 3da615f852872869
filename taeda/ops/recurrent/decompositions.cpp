// Recurrent cells as functions of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/cells.h"
#include "taeda/ops/recurrent/operators.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

Tensor column_sums(const Tensor& t) { return ops::sum_dim_IntList(t, IntList({0}), false, {}); }

Tensor sigmoid_slope(const Tensor& y) { return y * (1 - y); }

}  // namespace

TAEDA_DECOMPOSITION(_thnn_fused_lstm_cell,
                    (const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                     const Tensor& input_bias, const Tensor& hidden_bias)) {
  const Wide w({&cx});
  const auto wide = [&](const Tensor& t) { return t.defined() ? w(t) : t; };
  const recurrent::LstmGates g(w(input_gates), w(hidden_gates), wide(input_bias),
                               wide(hidden_bias));
  const Tensor cy = g.forget * w(cx) + g.in * g.cell;
  const Tensor gates[] = {g.in, g.forget, g.cell, g.out};
  return {w.rounded(g.out * taeda::tanh(cy)), w.rounded(cy), w.rounded(taeda::cat(gates, 1))};
}

TAEDA_DECOMPOSITION(_thnn_fused_gru_cell,
                    (const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                     const Tensor& input_bias, const Tensor& hidden_bias)) {
  const Wide w({&hx});
  const auto wide = [&](const Tensor& t) { return t.defined() ? w(t) : t; };
  const recurrent::GruGates g(w(input_gates), w(hidden_gates), wide(input_bias), wide(hidden_bias));
  const Tensor kept[] = {g.reset, g.update, g.candidate, w(hx), g.hidden};
  return {w.rounded(g.candidate + g.update * (w(hx) - g.candidate)),
          w.rounded(taeda::cat(kept, 1))};
}

TAEDA_DECOMPOSITION(_thnn_fused_lstm_cell_backward_impl,
                    (const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx,
                     const Tensor& cy, const Tensor& workspace, bool has_bias)) {
  if (!grad_hy.defined() && !grad_cy.defined()) return {};
  const Wide w({&workspace});
  const std::vector<Tensor> g = w(workspace).chunk(4, 1);
  const Tensor tanh = taeda::tanh(w(cy));
  const Tensor grad = grad_hy.defined() ? w(grad_hy) : taeda::zeros_like(tanh);
  Tensor state = grad * g[3] * (1 - tanh * tanh);
  if (grad_cy.defined()) state = state + w(grad_cy);
  const Tensor parts[] = {state * g[2] * sigmoid_slope(g[0]), state * w(cx) * sigmoid_slope(g[1]),
                          state * g[0] * (1 - g[2] * g[2]), grad * tanh * sigmoid_slope(g[3])};
  const Tensor gates = taeda::cat(parts, 1);
  return {w.rounded(gates), w.rounded(state * g[1]),
          has_bias ? w.rounded(column_sums(gates)) : Tensor()};
}

TAEDA_DECOMPOSITION(_thnn_fused_gru_cell_backward,
                    (const Tensor& grad_hy, const Tensor& workspace, bool has_bias)) {
  const Wide w({&grad_hy});
  const std::vector<Tensor> g = w(workspace).chunk(5, 1);
  const Tensor grad = w(grad_hy), &reset = g[0], &update = g[1], &made = g[2], &hx = g[3];
  const Tensor candidate = grad * (1 - update) * (1 - made * made);
  const Tensor by_reset = candidate * g[4] * sigmoid_slope(reset),
               by_update = grad * (hx - made) * sigmoid_slope(update);
  const Tensor from_input[] = {by_reset, by_update, candidate},
               from_hidden[] = {by_reset, by_update, candidate * reset};
  const Tensor input = taeda::cat(from_input, 1), hidden = taeda::cat(from_hidden, 1);
  const auto bias = [&](const Tensor& t) {
    return has_bias ? w.rounded(column_sums(t)) : Tensor();
  };
  return {w.rounded(input), w.rounded(hidden), w.rounded(grad * update), bias(input), bias(hidden)};
}

}  // namespace taeda
