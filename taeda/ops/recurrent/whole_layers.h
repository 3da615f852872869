// A recurrent layer in one direction as one operator.
//
// Note [Whole layers]: layers are made of their steps, which every stage of the compiler sees. A
// trace in which the number of steps is a symbol has no list of them: there a layer is one
// operator, _recurrent_layer, which runs the same steps when the number is known. Under autocast
// the products and weights are narrow; the state of a gated unit, which it adds to, is not.
#pragma once

#include <string_view>
#include <tuple>

#include "taeda/core/tensor.h"

namespace taeda::recurrent {

enum class Cell : uint8_t { Lstm, Gru, Tanh, Relu };

// "lstm", "gru", "rnn_tanh" or "rnn_relu"
Cell cell_of(std::string_view name);

// Gradients of from_input, hx, cx, w_hh, b_hh and w_hr; undefined for those that are absent.
using LayerGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

// What a backward pass through the steps reads. `from_input` and `b_hh` are needed where the
// gradients are differentiated again, `workspace` elsewhere.
struct LayerPass {
  Tensor from_input, hx, cx, w_hh, b_hh, w_hr, outputs, cells, workspace;
  Cell cell;
  bool is_reversed, has_bias, is_recorded;

  LayerGradients gradients(const Tensor& grad_outputs, const Tensor& grad_cells) const;
};

}  // namespace taeda::recurrent
