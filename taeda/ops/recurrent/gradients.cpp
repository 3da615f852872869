// Derivative helpers of recurrent cells.
#include "taeda/ops/recurrent/gradients.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/cells.h"

namespace taeda::gradients {
namespace {

using recurrent::add_bias;

Tensor sigmoid_tangent(const Tensor& sigmoid, const Tensor& tangent) {
  return sigmoid.mul(1 - sigmoid).mul(tangent);
}
Tensor tanh_tangent(const Tensor& tanh, const Tensor& tangent) {
  return (1 - tanh.mul(tanh)).mul(tangent);
}

}  // namespace

CellGradients lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy,
                                 const Tensor& input_gates, const Tensor& hidden_gates,
                                 const Tensor& cx, const Tensor& input_bias,
                                 const Tensor& hidden_bias, const Tensor& cy,
                                 const Tensor& workspace, bool is_recorded) {
  if (is_recorded)
    return taeda::_thnn_differentiable_lstm_cell_backward(
        grad_hy, grad_cy, input_gates, hidden_gates, input_bias, hidden_bias, cx, cy);
  return taeda::_thnn_fused_lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace,
                                               input_bias.defined());
}

CellGradients gru_cell_backward(const Tensor& grad_hy, const Tensor& input_gates,
                                const Tensor& hidden_gates, const Tensor& hx,
                                const Tensor& input_bias, const Tensor& hidden_bias,
                                const Tensor& workspace, bool is_recorded) {
  if (!grad_hy.defined()) return {};
  if (is_recorded)
    return taeda::_thnn_differentiable_gru_cell_backward(grad_hy, input_gates, hidden_gates, hx,
                                                         input_bias, hidden_bias);
  return taeda::_thnn_fused_gru_cell_backward(grad_hy, workspace, input_bias.defined());
}

recurrent::LayerGradients recurrent_layer_backward(
    const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& from_input,
    const Tensor& hx, const Tensor& cx, const Tensor& w_hh, const Tensor& b_hh, const Tensor& w_hr,
    const Tensor& outputs, const Tensor& cells, const Tensor& workspace, std::string_view cell,
    bool is_reversed, bool is_recorded) {
  if (!grad_outputs.defined() && !grad_cells.defined()) return {};
  if (!is_recorded)
    return taeda::_recurrent_layer_backward(grad_outputs, grad_cells, hx, cx, w_hh, w_hr, outputs,
                                            cells, workspace, cell, is_reversed, b_hh.defined());
  const recurrent::LayerPass pass{from_input,  hx,
                                  cx,          w_hh,
                                  b_hh,        w_hr,
                                  outputs,     cells,
                                  workspace,   recurrent::cell_of(cell),
                                  is_reversed, b_hh.defined(),
                                  true};
  return pass.gradients(grad_outputs, grad_cells);
}

std::tuple<Tensor, Tensor> lstm_cell_forward(
    const Tensor& input_gates, const Tensor& input_gates_tangent, const Tensor& hidden_gates,
    const Tensor& hidden_gates_tangent, const Tensor& cx, const Tensor& cx_tangent,
    const Tensor& input_bias, const Tensor& input_bias_tangent, const Tensor& hidden_bias,
    const Tensor& hidden_bias_tangent) {
  const recurrent::LstmGates g(input_gates, hidden_gates, input_bias, hidden_bias);
  const std::vector<Tensor> t =
      add_bias(add_bias(input_gates_tangent.add(hidden_gates_tangent), input_bias_tangent),
               hidden_bias_tangent)
          .chunk(4, 1);
  const Tensor tanh = g.forget.mul(cx).add(g.in.mul(g.cell)).tanh();
  const Tensor state = sigmoid_tangent(g.forget, t[1])
                           .mul(cx)
                           .add(g.forget.mul(cx_tangent))
                           .add(sigmoid_tangent(g.in, t[0]).mul(g.cell))
                           .add(g.in.mul(tanh_tangent(g.cell, t[2])));
  return {sigmoid_tangent(g.out, t[3]).mul(tanh).add(g.out.mul(tanh_tangent(tanh, state))), state};
}

Tensor gru_cell_forward(const Tensor& input_gates, const Tensor& input_gates_tangent,
                        const Tensor& hidden_gates, const Tensor& hidden_gates_tangent,
                        const Tensor& hx, const Tensor& hx_tangent, const Tensor& input_bias,
                        const Tensor& input_bias_tangent, const Tensor& hidden_bias,
                        const Tensor& hidden_bias_tangent) {
  const recurrent::GruGates g(input_gates, hidden_gates, input_bias, hidden_bias);
  const std::vector<Tensor> a = add_bias(input_gates_tangent, input_bias_tangent).chunk(3, 1),
                            b = add_bias(hidden_gates_tangent, hidden_bias_tangent).chunk(3, 1);
  const Tensor reset = sigmoid_tangent(g.reset, a[0].add(b[0]));
  const Tensor update = sigmoid_tangent(g.update, a[1].add(b[1]));
  const Tensor candidate =
      tanh_tangent(g.candidate, a[2].add(reset.mul(g.hidden)).add(g.reset.mul(b[2])));
  return candidate.mul(1 - g.update)
      .add(update.mul(hx.sub(g.candidate)))
      .add(g.update.mul(hx_tangent));
}

}  // namespace taeda::gradients
