// Derivative helpers of recurrent cells.
#pragma once

#include <string_view>
#include <tuple>

#include "taeda/core/tensor.h"
#include "taeda/ops/recurrent/functions.h"
#include "taeda/ops/recurrent/whole_layers.h"

namespace taeda::gradients {

using CellGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

// One kernel, or operators where the gradients will be differentiated again.
TAEDA_API CellGradients lstm_cell_backward(const Tensor& grad_hy, const Tensor& grad_cy,
                                           const Tensor& input_gates, const Tensor& hidden_gates,
                                           const Tensor& cx, const Tensor& input_bias,
                                           const Tensor& hidden_bias, const Tensor& cy,
                                           const Tensor& workspace, bool is_recorded);
TAEDA_API CellGradients gru_cell_backward(const Tensor& grad_hy, const Tensor& input_gates,
                                          const Tensor& hidden_gates, const Tensor& hx,
                                          const Tensor& input_bias, const Tensor& hidden_bias,
                                          const Tensor& workspace, bool is_recorded);

// The same for a whole layer.
TAEDA_API recurrent::LayerGradients recurrent_layer_backward(
    const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& from_input,
    const Tensor& hx, const Tensor& cx, const Tensor& w_hh, const Tensor& b_hh, const Tensor& w_hr,
    const Tensor& outputs, const Tensor& cells, const Tensor& workspace, std::string_view cell,
    bool is_reversed, bool is_recorded);

// ---- forward mode ----
TAEDA_API std::tuple<Tensor, Tensor> lstm_cell_forward(
    const Tensor& input_gates, const Tensor& input_gates_tangent, const Tensor& hidden_gates,
    const Tensor& hidden_gates_tangent, const Tensor& cx, const Tensor& cx_tangent,
    const Tensor& input_bias, const Tensor& input_bias_tangent, const Tensor& hidden_bias,
    const Tensor& hidden_bias_tangent);
TAEDA_API Tensor gru_cell_forward(const Tensor& input_gates, const Tensor& input_gates_tangent,
                                  const Tensor& hidden_gates, const Tensor& hidden_gates_tangent,
                                  const Tensor& hx, const Tensor& hx_tangent,
                                  const Tensor& input_bias, const Tensor& input_bias_tangent,
                                  const Tensor& hidden_bias, const Tensor& hidden_bias_tangent);

}  // namespace taeda::gradients
